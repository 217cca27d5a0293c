# RUN: compile %s --passes=decompose --emit=graph -o -
adept 1

# Windows side by side are a split of the axes; others are unfold views. Only windows that reach
# cells which are not counted need a count.
model windows {
    dim N in 1..=8
    input x : [N, 4, 8, 9] f32

    output a = avg_pool2d(x, 2)
    output b = max_pool2d(x, 3, stride=2, padding=1)
    output c = avg_pool2d(x, 3, stride=2, padding=1, count_include_pad=false)
}
#| adept 1 ir
#| model windows {
#|     dim N in 1..=8
#|     input x : [N, 4, 8, 9] f32 loc(8, 5)
#|     a.avg_pool2d.columns : [N, 4, 8, 8] f32 = x[:, :, :, 0:8] loc(10, 16)
#|     a.avg_pool2d.windows : [N, 4, 4, 2, 4, 2] f32 = reshape(a.avg_pool2d.columns, shape=[N, 4, 4, 2, 4, 2]) loc(10, 16)
#|     a.avg_pool2d.permute : [N, 4, 4, 4, 2, 2] f32 = permute_dims(a.avg_pool2d.windows, axes=[0, 1, 2, 4, 3, 5]) loc(10, 16)
#|     a.avg_pool2d.sum : [N, 4, 4, 4] f32 = sum(a.avg_pool2d.permute, axis=[4, 5]) loc(10, 16)
#|     output a : [N, 4, 4, 4] f32 = multiply(a.avg_pool2d.sum, 0.25) loc(10, 16)
#|     b.max_pool2d.unfold : [N, 4, 3, 4, 9] f32 = unfold(x, axis=2, kernel=3, count=4, stride=2, before=1, value=-inf) loc(11, 16)
#|     b.max_pool2d.unfold.2 : [N, 4, 3, 4, 3, 5] f32 = unfold(b.max_pool2d.unfold, axis=4, kernel=3, count=5, stride=2, before=1, value=-inf) loc(11, 16)
#|     b.max_pool2d.permute : [N, 4, 4, 5, 3, 3] f32 = permute_dims(b.max_pool2d.unfold.2, axes=[0, 1, 3, 5, 2, 4]) loc(11, 16)
#|     output b : [N, 4, 4, 5] f32 = max(b.max_pool2d.permute, axis=[4, 5]) loc(11, 16)
#|     c.avg_pool2d.unfold : [N, 4, 3, 4, 9] f32 = unfold(x, axis=2, kernel=3, count=4, stride=2, before=1, value=0.0) loc(12, 16)
#|     c.avg_pool2d.unfold.2 : [N, 4, 3, 4, 3, 5] f32 = unfold(c.avg_pool2d.unfold, axis=4, kernel=3, count=5, stride=2, before=1, value=0.0) loc(12, 16)
#|     c.avg_pool2d.permute : [N, 4, 4, 5, 3, 3] f32 = permute_dims(c.avg_pool2d.unfold.2, axes=[0, 1, 3, 5, 2, 4]) loc(12, 16)
#|     c.avg_pool2d.sum : [N, 4, 4, 5] f32 = sum(c.avg_pool2d.permute, axis=[4, 5]) loc(12, 16)
#|     c.avg_pool2d.number : f32 = full(shape=[], value=1.0, dtype=f32) loc(12, 16)
#|     c.avg_pool2d.broadcast : [8] f32 = broadcast_to(c.avg_pool2d.number, shape=[8]) loc(12, 16)
#|     c.avg_pool2d.unfold.3 : [3, 4] f32 = unfold(c.avg_pool2d.broadcast, axis=0, kernel=3, count=4, stride=2, before=1, value=0.0) loc(12, 16)
#|     c.avg_pool2d.cells : [4] f32 = sum(c.avg_pool2d.unfold.3, axis=0) loc(12, 16)
#|     c.avg_pool2d.keep : [4, 1] f32 = c.avg_pool2d.cells[:, None] loc(12, 16)
#|     c.avg_pool2d.broadcast.2 : [9] f32 = broadcast_to(c.avg_pool2d.number, shape=[9]) loc(12, 16)
#|     c.avg_pool2d.unfold.4 : [3, 5] f32 = unfold(c.avg_pool2d.broadcast.2, axis=0, kernel=3, count=5, stride=2, before=1, value=0.0) loc(12, 16)
#|     c.avg_pool2d.cells.2 : [5] f32 = sum(c.avg_pool2d.unfold.4, axis=0) loc(12, 16)
#|     c.avg_pool2d.count : [4, 5] f32 = multiply(c.avg_pool2d.keep, c.avg_pool2d.cells.2) loc(12, 16)
#|     output c : [N, 4, 4, 5] f32 = divide(c.avg_pool2d.sum, c.avg_pool2d.count) loc(12, 16)
#| }
