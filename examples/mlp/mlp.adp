# Residual MLP: layer norm, two dense layers with GELU between them, four times over.
# Weights: layers.0.norm.weight, layers.0.norm.bias, layers.0.up.weight, ... head.weight, head.bias.
adept 1

const D      = 64              # width
const H      = 4 * D           # hidden width
const layers = 4
const out    = 10

block Dense[In](x: [..., In] f32, out: int) -> [..., out] f32 {
    param weight : [out, In] f32
    param bias   : [out] f32
    return linear(x, weight, bias)
}

block Norm[C](x: [..., C] f32) -> [..., C] f32 {
    param weight : [C] f32
    param bias   : [C] f32
    return layer_norm(x, weight, bias)
}

block Layer(x: [..., D] f32) -> [..., D] f32 {
    h = Norm(x) at "norm"
    h = gelu(Dense(h, out=H) at "up")
    return x + Dense(h, out=D) at "down"
}

model mlp {
    dim N in 1..=256           # rows in this run

    input x : [N, D] f32
    h = x
    repeat i in 0..layers {
        h = Layer(h) at "layers.{i}"
    }
    output y : [N, out] f32 = Dense(Norm(h) at "norm", out=out) at "head"
}
