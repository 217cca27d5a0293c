# RUN: compile %s --emit=graph -o -
adept 1

# Softmax and argmax of one tensor share a row kernel; a norm takes the addition before it and the
# activation after it.
model rows {
    dim N in 1..=8
    input x : [N, 64] f16
    input r : [N, 64] f16
    param w : [64] f16

    h = x + r
    output y = silu(rms_norm(h, w))
    output h2 = h
    output p = softmax(y)
    output k = argmax(y, axis=1)
}
#| adept 1 ir
#| model rows {
#|     dim N in 1..=8
#|     input x : [N, 64] f16 loc(8, 5)
#|     input r : [N, 64] f16 loc(9, 5)
#|     param w : [64] f16 from "/w" loc(10, 5)
#|     fused k0(family="row") -> h, y, p, k {
#|         h : [N, 64] f16 = add(x, r) loc(12, 11)
#|         y.rms_norm.wide : [N, 64] f32 = cast(h, dtype=f32) loc(13, 21)
#|         y.rms_norm.square : [N, 64] f32 = multiply(y.rms_norm.wide, y.rms_norm.wide) loc(13, 21)
#|         y.rms_norm.squares : [N] f32 = sum(y.rms_norm.square, axis=1) loc(13, 21)
#|         y.rms_norm.mean : [N] f32 = multiply(y.rms_norm.squares, 0.015625) loc(13, 21)
#|         y.rms_norm.shift : [N] f32 = add(y.rms_norm.mean, 1e-5) loc(13, 21)
#|         y.rms_norm.scale : [N] f32 = rsqrt(y.rms_norm.shift) loc(13, 21)
#|         y.rms_norm.normal : [N, 64] f32 = multiply(y.rms_norm.wide, y.rms_norm.scale[:, None]) loc(13, 21)
#|         y.rms_norm.weight : [N, 64] f32 = cast(broadcast_to(w, shape=[N, 64]), dtype=f32) loc(13, 21)
#|         y.rms_norm.scaled : [N, 64] f32 = multiply(y.rms_norm.normal, y.rms_norm.weight) loc(13, 21)
#|         y.rms_norm : [N, 64] f16 = narrow(y.rms_norm.scaled, dtype=f16) loc(13, 21)
#|         output y : [N, 64] f16 = silu(y.rms_norm) loc(13, 16)
#|         p.softmax.wide : [N, 64] f32 = cast(y, dtype=f32) loc(15, 16)
#|         p.softmax.max : [N] f32 = max(p.softmax.wide, axis=1) loc(15, 16)
#|         p.softmax.shifted : [N, 64] f32 = subtract(p.softmax.wide, p.softmax.max[:, None]) loc(15, 16)
#|         p.softmax.exp : [N, 64] f32 = exp(p.softmax.shifted) loc(15, 16)
#|         p.softmax.sum : [N] f32 = sum(p.softmax.exp, axis=1) loc(15, 16)
#|         p.softmax.ratio : [N, 64] f32 = divide(p.softmax.exp, p.softmax.sum[:, None]) loc(15, 16)
#|         p : [N, 64] f16 = narrow(p.softmax.ratio, dtype=f16) loc(15, 16)
#|         k : [N] i32 = argmax(y, axis=1) loc(16, 16)
#|     }
#|     output h2 : [N, 64] f16 = h loc(14, 5)
#|     output p : [N, 64] f16 = p loc(15, 5)
#|     output k : [N] i32 = k loc(16, 5)
#| }
