# RUN: compile %s --emit=graph -o -
adept 1

# A mean over what a depthwise convolution makes reads its f16: the cast belongs to the mean.
model squeeze {
    dim N in 1..=8
    input x : [N, 4, 9, 7] f16
    param w : [4, 1, 3, 3] f16
    h = relu(conv2d(x, w, padding=1, groups=4))
    output y = h * mean(h, axis=[2, 3], keepdims=true)
}
#| adept 1 ir
#| model squeeze {
#|     dim N in 1..=8
#|     input x : [N, 4, 9, 7] f16 loc(7, 5)
#|     param w : [4, 1, 3, 3] f16 from "/w" loc(8, 5)
#|     fused k0(family="row") -> h {
#|         h.conv2d.wide : [N, 4, 9, 7, 3, 3] f32 = cast(permute_dims(unfold(unfold(x, axis=2, kernel=3, count=9, before=1, value=0.0), axis=4, kernel=3, count=7, before=1, value=0.0), axes=[0, 1, 3, 5, 2, 4]), dtype=f32) loc(9, 14)
#|         h.conv2d.filter.2 : [N, 4, 9, 7, 3, 3] f32 = cast(broadcast_to(reshape(w, shape=[4, 1, 1, 3, 3]), shape=[N, 4, 9, 7, 3, 3]), dtype=f32) loc(9, 14)
#|         h.conv2d.product : [N, 4, 9, 7, 3, 3] f32 = multiply(h.conv2d.wide, h.conv2d.filter.2) loc(9, 14)
#|         h.conv2d.sum : [N, 4, 9, 7] f32 = sum(h.conv2d.product, axis=[4, 5]) loc(9, 14)
#|         h.conv2d : [N, 4, 9, 7] f16 = cast(h.conv2d.sum, dtype=f16) loc(9, 14)
#|         h : [N, 4, 9, 7] f16 = relu(h.conv2d) loc(9, 9)
#|     }
#|     fused k1(family="row") -> y {
#|         y.mean.wide : [N, 4, 9, 7] f32 = cast(h, dtype=f32) loc(10, 20)
#|         y.mean.sum : [N, 4] f32 = sum(y.mean.wide, axis=[2, 3]) loc(10, 20)
#|         y.mean.mean : [N, 4] f32 = divide(y.mean.sum, 63.0) loc(10, 20)
#|         y.mean.round : [N, 4] f16 = narrow(y.mean.mean, dtype=f16) loc(10, 20)
#|         output y : [N, 4, 9, 7] f16 = multiply(h, reshape(y.mean.round, shape=[N, 4, 1, 1])) loc(10, 18)
#|     }
#| }
