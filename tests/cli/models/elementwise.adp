# One row kernel: a chain of maps, and its sum along the last axis.
adept 1
const scale = 2

model elementwise {
    dim N in 1..=64
    input x : [N, 3] f32
    output y : [N, 3] f32 = gelu(x) * scale + 1
    output s : [N] f32 = sum(y, axis=-1)
}
