# RUN: compile %s --emit=graph -o -
adept 1

# Between a product and the norm behind it memory holds the f16 sum, not its f32 square: the maps in
# between belong to the row.
model cut {
    dim N in 1..=8
    input x : [N, 64] f16
    param w : [64, 64] f16
    param g : [64] f16
    h = x + linear(x, w)
    output y = h + rms_norm(h, g)
}
#| adept 1 ir
#| model cut {
#|     dim N in 1..=8
#|     input x : [N, 64] f16 loc(8, 5)
#|     param w : [64, 64] f16 from "/w" loc(9, 5)
#|     param g : [64] f16 from "/g" loc(10, 5)
#|     fused k0(family="contract") -> h {
#|         h.linear : [N, 64] f16 = contract(x, w) loc(11, 13)
#|         h : [N, 64] f16 = add(x, h.linear) loc(11, 11)
#|     }
#|     fused k1(family="row") -> y {
#|         y.rms_norm.wide : [N, 64] f32 = cast(h, dtype=f32) loc(12, 20)
#|         y.rms_norm.square : [N, 64] f32 = multiply(y.rms_norm.wide, y.rms_norm.wide) loc(12, 20)
#|         y.rms_norm.squares : [N] f32 = sum(y.rms_norm.square, axis=1) loc(12, 20)
#|         y.rms_norm.mean : [N] f32 = multiply(y.rms_norm.squares, 0.015625) loc(12, 20)
#|         y.rms_norm.shift : [N] f32 = add(y.rms_norm.mean, 1e-5) loc(12, 20)
#|         y.rms_norm.scale : [N] f32 = rsqrt(y.rms_norm.shift) loc(12, 20)
#|         y.rms_norm.normal : [N, 64] f32 = multiply(y.rms_norm.wide, y.rms_norm.scale[:, None]) loc(12, 20)
#|         y.rms_norm.weight : [N, 64] f32 = cast(broadcast_to(g, shape=[N, 64]), dtype=f32) loc(12, 20)
#|         y.rms_norm.scaled : [N, 64] f32 = multiply(y.rms_norm.normal, y.rms_norm.weight) loc(12, 20)
#|         y.rms_norm : [N, 64] f16 = narrow(y.rms_norm.scaled, dtype=f16) loc(12, 20)
#|         output y : [N, 64] f16 = add(h, y.rms_norm) loc(12, 18)
#|     }
#| }
