# RUN: compile %s --emit=graph -o -
adept 1

# Two blocks of convolution, bias, activation and pool are two dispatches; the norm's factor is
# computed when weights are bound.
block Stage[N, C, H, W](x: [N, C, H, W] f32, out: int) -> [N, out, H // 2, W // 2] f32 {
    param weight : [out, C, 3, 3] f32
    param mean : [out] f32
    param var : [out] f32
    y = relu(batch_norm(conv2d(x, weight, padding=1), mean, var))
    return max_pool2d(y, 2)
}

model chain {
    dim N in 1..=8
    input x : [N, 3, 16, 16] f32
    h = Stage(x, out=8) at "a"
    h = Stage(h, out=12) at "b"
    output y = mean(h, axis=[2, 3])
}
#| adept 1 ir
#| model chain {
#|     dim N in 1..=8
#|     input x : [N, 3, 16, 16] f32 loc(16, 5)
#|     param a.weight : [8, 3, 3, 3] f32 from "/a.weight" loc(7, 5, 17, 9)
#|     param a.mean : [8] f32 from "/a.mean" loc(8, 5, 17, 9)
#|     param a.var : [8] f32 from "/a.var" loc(9, 5, 17, 9)
#|     fused k0(family="map", prepare=true) -> a.y.batch_norm.rsqrt {
#|         a.y.batch_norm.shift : [1, 8, 1, 1, 1, 1] f32 = add(reshape(a.var, shape=[1, 8, 1, 1, 1, 1]), 1e-5) loc(10, 14, 17, 9)
#|         a.y.batch_norm.rsqrt : [1, 8, 1, 1, 1, 1] f32 = rsqrt(a.y.batch_norm.shift) loc(10, 14, 17, 9)
#|     }
#|     fused k1(family="contract") -> h {
#|         a.y.conv2d : [N, 8, 8, 8, 2, 2] f32 = contract(broadcast_to(a.weight, shape=[N, 8, 3, 3, 3]), permute_dims(reshape(permute_dims(unfold(unfold(x, axis=2, kernel=3, count=16, before=1, value=0.0), axis=4, kernel=3, count=16, before=1, value=0.0), axes=[0, 3, 5, 1, 2, 4]), shape=[N, 8, 2, 8, 2, 3, 3, 3]), axes=[0, 1, 3, 2, 4, 5, 6, 7]), batch=1, k=3, reason="implicit product: the target's rates are not known") loc(10, 25, 17, 9)
#|         a.y.batch_norm.centred : [N, 8, 8, 8, 2, 2] f32 = subtract(a.y.conv2d, reshape(a.mean, shape=[1, 8, 1, 1, 1, 1])) loc(10, 14, 17, 9)
#|         a.y.batch_norm : [N, 8, 8, 8, 2, 2] f32 = multiply(a.y.batch_norm.centred, a.y.batch_norm.rsqrt) loc(10, 14, 17, 9)
#|         a.y : [N, 8, 8, 8, 2, 2] f32 = relu(a.y.batch_norm) loc(10, 9, 17, 9)
#|         h : [N, 8, 8, 8] f32 = max(a.y, axis=[4, 5]) loc(11, 12, 17, 9)
#|     }
#|     param b.weight : [12, 8, 3, 3] f32 from "/b.weight" loc(7, 5, 18, 9)
#|     param b.mean : [12] f32 from "/b.mean" loc(8, 5, 18, 9)
#|     param b.var : [12] f32 from "/b.var" loc(9, 5, 18, 9)
#|     fused k2(family="map", prepare=true) -> b.y.batch_norm.rsqrt {
#|         b.y.batch_norm.shift : [1, 12, 1, 1, 1, 1] f32 = add(reshape(b.var, shape=[1, 12, 1, 1, 1, 1]), 1e-5) loc(10, 14, 18, 9)
#|         b.y.batch_norm.rsqrt : [1, 12, 1, 1, 1, 1] f32 = rsqrt(b.y.batch_norm.shift) loc(10, 14, 18, 9)
#|     }
#|     fused k3(family="contract") -> h.2 {
#|         b.y.conv2d : [N, 12, 4, 4, 2, 2] f32 = contract(broadcast_to(b.weight, shape=[N, 12, 8, 3, 3]), permute_dims(reshape(permute_dims(unfold(unfold(h, axis=2, kernel=3, count=8, before=1, value=0.0), axis=4, kernel=3, count=8, before=1, value=0.0), axes=[0, 3, 5, 1, 2, 4]), shape=[N, 4, 2, 4, 2, 8, 3, 3]), axes=[0, 1, 3, 2, 4, 5, 6, 7]), batch=1, k=3, reason="implicit product: the target's rates are not known") loc(10, 25, 18, 9)
#|         b.y.batch_norm.centred : [N, 12, 4, 4, 2, 2] f32 = subtract(b.y.conv2d, reshape(b.mean, shape=[1, 12, 1, 1, 1, 1])) loc(10, 14, 18, 9)
#|         b.y.batch_norm : [N, 12, 4, 4, 2, 2] f32 = multiply(b.y.batch_norm.centred, b.y.batch_norm.rsqrt) loc(10, 14, 18, 9)
#|         b.y : [N, 12, 4, 4, 2, 2] f32 = relu(b.y.batch_norm) loc(10, 9, 18, 9)
#|         h.2 : [N, 12, 4, 4] f32 = max(b.y, axis=[4, 5]) loc(11, 12, 18, 9)
#|     }
#|     fused k4(family="row") -> y {
#|         y.mean.sum : [N, 12] f32 = sum(h.2, axis=[2, 3]) loc(19, 16)
#|         output y : [N, 12] f32 = multiply(y.mean.sum, 0.0625) loc(19, 16)
#|     }
#| }
