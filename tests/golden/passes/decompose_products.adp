# RUN: compile %s --passes=decompose --emit=graph -o -
adept 1

# A bias is added before the one rounding of the sum; operands are brought into order by moves.
model products {
    dim N in 1..=8
    input x : [N, 3, 8, 16] f16
    input img : [N, 4, 9, 9] f32
    param w : [24, 16] f16
    param b : [24] f16
    param f : [6, 2, 3, 3] f32

    output y = linear(x, w, b)
    output z = x @ transpose(x, -1, -2)
    output c = conv2d(img, f, stride=2, padding="same", groups=2)
}
#| adept 1 ir
#| model products {
#|     dim N in 1..=8
#|     input x : [N, 3, 8, 16] f16 loc(7, 5)
#|     input img : [N, 4, 9, 9] f32 loc(8, 5)
#|     param w : [24, 16] f16 from "/w" loc(9, 5)
#|     param b : [24] f16 from "/b" loc(10, 5)
#|     param f : [6, 2, 3, 3] f32 from "/f" loc(11, 5)
#|     y.linear.contract : [N, 3, 8, 24] f32 = contract(x, w, dtype=f32) loc(13, 16)
#|     y.linear.broadcast : [N, 3, 8, 24] f16 = broadcast_to(b, shape=[N, 3, 8, 24]) loc(13, 16)
#|     y.linear.bias : [N, 3, 8, 24] f32 = cast(y.linear.broadcast, dtype=f32) loc(13, 16)
#|     y.linear.add : [N, 3, 8, 24] f32 = add(y.linear.contract, y.linear.bias) loc(13, 16)
#|     output y : [N, 3, 8, 24] f16 = narrow(y.linear.add, dtype=f16) loc(13, 16)
#|     z.transpose : [N, 3, 16, 8] f16 = transpose(x, a=2, b=3) loc(14, 20)
#|     z.matmul.transpose : [N, 3, 8, 16] f16 = permute_dims(z.transpose, axes=[0, 1, 3, 2]) loc(14, 18)
#|     output z : [N, 3, 8, 8] f16 = contract(x, z.matmul.transpose, batch=2) loc(14, 18)
#|     c.conv2d.grouped : [N, 2, 2, 9, 9] f32 = reshape(img, shape=[N, 2, 2, 9, 9]) loc(15, 16)
#|     c.conv2d.unfold : [N, 2, 2, 3, 5, 9] f32 = unfold(c.conv2d.grouped, axis=3, kernel=3, count=5, stride=2, before=1, value=0.0) loc(15, 16)
#|     c.conv2d.unfold.2 : [N, 2, 2, 3, 5, 3, 5] f32 = unfold(c.conv2d.unfold, axis=5, kernel=3, count=5, stride=2, before=1, value=0.0) loc(15, 16)
#|     c.conv2d.permute : [N, 2, 5, 5, 2, 3, 3] f32 = permute_dims(c.conv2d.unfold.2, axes=[0, 1, 4, 6, 2, 3, 5]) loc(15, 16)
#|     c.conv2d.weight : [2, 3, 2, 3, 3] f32 = reshape(f, shape=[2, 3, 2, 3, 3]) loc(15, 16)
#|     c.conv2d.broadcast : [N, 2, 3, 2, 3, 3] f32 = broadcast_to(c.conv2d.weight, shape=[N, 2, 3, 2, 3, 3]) loc(15, 16)
#|     c.conv2d.groups : [N, 2, 3, 5, 5] f32 = contract(c.conv2d.broadcast, c.conv2d.permute, batch=2, k=3) loc(15, 16)
#|     output c : [N, 6, 5, 5] f32 = reshape(c.conv2d.groups, shape=[N, 6, 5, 5]) loc(15, 16)
#| }
