# RUN: compile %s --emit=graph -o -
adept 1

# Copies are the last resort, and say why they are there.
model copies {
    dim N in 1..=8
    input x : [N, 4] f32
    input y : [N, 3] f32
    output t = transpose(x, 0, 1)
    output j = relu(concat([x, y], axis=1))
    output i = arange(0, N)
}
#| adept 1 ir
#| model copies {
#|     dim N in 1..=8
#|     input x : [N, 4] f32 loc(7, 5)
#|     input y : [N, 3] f32 loc(8, 5)
#|     const j.concat.here.const : [7] bool = [true, true, true, true, false, false, false] loc(10, 21)
#|     fused k0(family="map") -> j {
#|         j.concat : [N, 7] f32 = where(j.concat.here.const, pad(x, widths=[[0, 0], [0, 3]], value=0.0), pad(y, widths=[[0, 0], [4, 0]], value=0.0)) loc(10, 21)
#|         j : [N, 7] f32 = relu(j.concat) loc(10, 16)
#|     }
#|     fused k1(family="map", reason="memory must hold this counter or fill") -> i {
#|         i : [N] i32 = arange(start=0, stop=N) loc(11, 16)
#|     }
#|     fused k2(family="map", reason="memory must hold this value, which is a view of another") -> t {
#|         output t : [4, N] f32 = transpose(x, a=0, b=1) loc(9, 16)
#|     }
#|     output j : [N, 7] f32 = j loc(10, 5)
#|     output i : [N] i32 = i loc(11, 5)
#| }
