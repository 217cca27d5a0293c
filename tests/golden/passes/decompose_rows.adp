# RUN: compile %s --passes=decompose --emit=graph -o -
adept 1

# What a norm or softmax of f16 computes inside is f32, rounded once at the end.
model rows {
    dim N in 1..=8
    input x : [N, 12, 64] f16
    param w : [64] f16
    param b : [64] f16

    output p = softmax(x, axis=1)
    output q = layer_norm(x, w, b)
    output m = mean(x, axis=[0, 2], keepdims=true)
}
#| adept 1 ir
#| model rows {
#|     dim N in 1..=8
#|     input x : [N, 12, 64] f16 loc(7, 5)
#|     param w : [64] f16 from "/w" loc(8, 5)
#|     param b : [64] f16 from "/b" loc(9, 5)
#|     p.softmax.wide : [N, 12, 64] f32 = cast(x, dtype=f32) loc(11, 16)
#|     p.softmax.max : [N, 64] f32 = max(p.softmax.wide, axis=1) loc(11, 16)
#|     p.softmax.keep : [N, 1, 64] f32 = p.softmax.max[:, None, :] loc(11, 16)
#|     p.softmax.shifted : [N, 12, 64] f32 = subtract(p.softmax.wide, p.softmax.keep) loc(11, 16)
#|     p.softmax.exp : [N, 12, 64] f32 = exp(p.softmax.shifted) loc(11, 16)
#|     p.softmax.sum : [N, 64] f32 = sum(p.softmax.exp, axis=1) loc(11, 16)
#|     p.softmax.keep.2 : [N, 1, 64] f32 = p.softmax.sum[:, None, :] loc(11, 16)
#|     p.softmax.ratio : [N, 12, 64] f32 = divide(p.softmax.exp, p.softmax.keep.2) loc(11, 16)
#|     output p : [N, 12, 64] f16 = narrow(p.softmax.ratio, dtype=f16) loc(11, 16)
#|     q.layer_norm.sum : [N, 12] f32 = sum(p.softmax.wide, axis=2) loc(12, 16)
#|     q.layer_norm.mean : [N, 12] f32 = multiply(q.layer_norm.sum, 0.015625) loc(12, 16)
#|     q.layer_norm.keep : [N, 12, 1] f32 = q.layer_norm.mean[:, :, None] loc(12, 16)
#|     q.layer_norm.centred : [N, 12, 64] f32 = subtract(p.softmax.wide, q.layer_norm.keep) loc(12, 16)
#|     q.layer_norm.square : [N, 12, 64] f32 = multiply(q.layer_norm.centred, q.layer_norm.centred) loc(12, 16)
#|     q.layer_norm.squares : [N, 12] f32 = sum(q.layer_norm.square, axis=2) loc(12, 16)
#|     q.layer_norm.var : [N, 12] f32 = multiply(q.layer_norm.squares, 0.015625) loc(12, 16)
#|     q.layer_norm.shift : [N, 12] f32 = add(q.layer_norm.var, 1e-5) loc(12, 16)
#|     q.layer_norm.scale : [N, 12] f32 = rsqrt(q.layer_norm.shift) loc(12, 16)
#|     q.layer_norm.keep.2 : [N, 12, 1] f32 = q.layer_norm.scale[:, :, None] loc(12, 16)
#|     q.layer_norm.normal : [N, 12, 64] f32 = multiply(q.layer_norm.centred, q.layer_norm.keep.2) loc(12, 16)
#|     q.layer_norm.broadcast : [N, 12, 64] f16 = broadcast_to(w, shape=[N, 12, 64]) loc(12, 16)
#|     q.layer_norm.weight : [N, 12, 64] f32 = cast(q.layer_norm.broadcast, dtype=f32) loc(12, 16)
#|     q.layer_norm.scaled : [N, 12, 64] f32 = multiply(q.layer_norm.normal, q.layer_norm.weight) loc(12, 16)
#|     q.layer_norm.broadcast.2 : [N, 12, 64] f16 = broadcast_to(b, shape=[N, 12, 64]) loc(12, 16)
#|     q.layer_norm.bias : [N, 12, 64] f32 = cast(q.layer_norm.broadcast.2, dtype=f32) loc(12, 16)
#|     q.layer_norm.biased : [N, 12, 64] f32 = add(q.layer_norm.scaled, q.layer_norm.bias) loc(12, 16)
#|     output q : [N, 12, 64] f16 = narrow(q.layer_norm.biased, dtype=f16) loc(12, 16)
#|     m.mean.sum : [12] f32 = sum(p.softmax.wide, axis=[0, 2]) loc(13, 16)
#|     m.mean.mean : [12] f32 = divide(m.mean.sum, N * 64) loc(13, 16)
#|     m.mean.round : [12] f16 = narrow(m.mean.mean, dtype=f16) loc(13, 16)
#|     m.mean.keep : [1, 12] f16 = m.mean.round[None, :] loc(13, 16)
#|     output m : [1, 12, 1] f16 = m.mean.keep[:, :, None] loc(13, 16)
#| }
