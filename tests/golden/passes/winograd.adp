# RUN: compile %s --target=rates.target --passes=winograd -o - --emit=graph
adept 1
model m {
    dim N in 1..=32
    input x : [N, 64, 56, 56] f32
    param w : [64, 64, 3, 3] f32
    param b : [64] f32
    y = relu(conv2d(x, w, b, padding=1) + x)        # F(4x4, 3x3)
    param w2 : [64, 3, 3, 3] f32
    z = conv2d(y[:, :3, :, :], w2)                  # few channels: implicit product
    param v : [32, 2, 3, 3] f32
    u = conv2d(y, v, groups=32, padding=1)          # grouped: implicit product
    h = cast(y, f16)
    param s : [128, 64, 3, 3] f16
    output a = conv2d(h, s)                         # fragments are fast: implicit product
    output c = conv2d(y, w, stride=2)               # not asked
    output d = z
    output e = u
}
#| adept 1 ir
#| model m {
#|     dim N in 1..=32
#|     input x : [N, 64, 56, 56] f32 loc(5, 5)
#|     param w : [64, 64, 3, 3] f32 from "/w" loc(6, 5)
#|     param b : [64] f32 from "/b" loc(7, 5)
#|     y.conv2d.tiles : [36, 64, N * 192 + (N + 1) // 2 * 8] f32 = winograd_input(x, tile=4, count=[14, 14], before=[1]) loc(8, 14)
#|     y.conv2d.filters : [36, 64, 64] f32 = winograd_weight(w, tile=4) loc(8, 14)
#|     y.conv2d.permute : [36, N * 192 + (N + 1) // 2 * 8, 64] f32 = permute_dims(y.conv2d.tiles, axes=[0, 2, 1]) loc(8, 14)
#|     y.conv2d.products : [36, 64, N * 192 + (N + 1) // 2 * 8] f32 = contract(y.conv2d.filters, y.conv2d.permute, batch=1) loc(8, 14)
#|     y.conv2d.image : [N, 64, 56, 56] f32 = winograd_output(y.conv2d.products, tile=4, shape=[N, 64, 56, 56], reason="Winograd F(4x4, 3x3): about 48.3 us, implicit product 98.5; error at most 8.3 times the direct form's") loc(8, 14)
#|     y.conv2d.keep : [64, 1] f32 = b[:, None] loc(8, 14)
#|     y.conv2d.keep.2 : [64, 1, 1] f32 = y.conv2d.keep[:, :, None] loc(8, 14)
#|     y.conv2d : [N, 64, 56, 56] f32 = add(y.conv2d.image, y.conv2d.keep.2) loc(8, 14)
#|     y.add : [N, 64, 56, 56] f32 = add(y.conv2d, x) loc(8, 41)
#|     y : [N, 64, 56, 56] f32 = relu(y.add) loc(8, 9)
#|     param w2 : [64, 3, 3, 3] f32 from "/w2" loc(9, 5)
#|     z.slice : [N, 3, 56, 56] f32 = y[:, 0:3, :, :] loc(10, 16)
#|     z.conv2d.unfold : [N, 3, 3, 54, 56] f32 = unfold(z.slice, axis=2, kernel=3, count=54, value=0.0) loc(10, 9)
#|     z.conv2d.unfold.2 : [N, 3, 3, 54, 3, 54] f32 = unfold(z.conv2d.unfold, axis=4, kernel=3, count=54, value=0.0) loc(10, 9)
#|     z.conv2d.permute : [N, 54, 54, 3, 3, 3] f32 = permute_dims(z.conv2d.unfold.2, axes=[0, 3, 5, 1, 2, 4]) loc(10, 9)
#|     z.conv2d.broadcast : [N, 64, 3, 3, 3] f32 = broadcast_to(w2, shape=[N, 64, 3, 3, 3]) loc(10, 9)
#|     z : [N, 64, 54, 54] f32 = contract(z.conv2d.broadcast, z.conv2d.permute, batch=1, k=3, reason="implicit product: about 13.5 us, Winograd F(4x4, 3x3) 31.1") loc(10, 9)
#|     param v : [32, 2, 3, 3] f32 from "/v" loc(11, 5)
#|     u.conv2d.grouped : [N, 32, 2, 56, 56] f32 = reshape(y, shape=[N, 32, 2, 56, 56]) loc(12, 9)
#|     u.conv2d.unfold : [N, 32, 2, 3, 56, 56] f32 = unfold(u.conv2d.grouped, axis=3, kernel=3, count=56, before=1, value=0.0) loc(12, 9)
#|     u.conv2d.unfold.2 : [N, 32, 2, 3, 56, 3, 56] f32 = unfold(u.conv2d.unfold, axis=5, kernel=3, count=56, before=1, value=0.0) loc(12, 9)
#|     u.conv2d.permute : [N, 32, 56, 56, 2, 3, 3] f32 = permute_dims(u.conv2d.unfold.2, axes=[0, 1, 4, 6, 2, 3, 5]) loc(12, 9)
#|     u.conv2d.weight : [32, 1, 2, 3, 3] f32 = reshape(v, shape=[32, 1, 2, 3, 3]) loc(12, 9)
#|     u.conv2d.broadcast : [N, 32, 1, 2, 3, 3] f32 = broadcast_to(u.conv2d.weight, shape=[N, 32, 1, 2, 3, 3]) loc(12, 9)
#|     u.conv2d.groups : [N, 32, 1, 56, 56] f32 = contract(u.conv2d.broadcast, u.conv2d.permute, batch=2, k=3, reason="implicit product: about 51.4 us, Winograd F(4x4, 3x3) 81.3") loc(12, 9)
#|     u : [N, 32, 56, 56] f32 = reshape(u.conv2d.groups, shape=[N, 32, 56, 56]) loc(12, 9)
#|     h : [N, 64, 56, 56] f16 = cast(y, dtype=f16) loc(13, 9)
#|     param s : [128, 64, 3, 3] f16 from "/s" loc(14, 5)
#|     a.conv2d.unfold : [N, 64, 3, 54, 56] f16 = unfold(h, axis=2, kernel=3, count=54, value=0.0) loc(15, 16)
#|     a.conv2d.unfold.2 : [N, 64, 3, 54, 3, 54] f16 = unfold(a.conv2d.unfold, axis=4, kernel=3, count=54, value=0.0) loc(15, 16)
#|     a.conv2d.permute : [N, 54, 54, 64, 3, 3] f16 = permute_dims(a.conv2d.unfold.2, axes=[0, 3, 5, 1, 2, 4]) loc(15, 16)
#|     a.conv2d.broadcast : [N, 128, 64, 3, 3] f16 = broadcast_to(s, shape=[N, 128, 64, 3, 3]) loc(15, 16)
#|     output a : [N, 128, 54, 54] f16 = contract(a.conv2d.broadcast, a.conv2d.permute, batch=1, k=3, reason="implicit product: about 24.5 us, Winograd F(4x4, 3x3) 53.3") loc(15, 16)
#|     output c : [N, 64, 27, 27] f32 = conv2d(y, w, stride=2) loc(16, 16)
#|     output d : [N, 64, 54, 54] f32 = z loc(17, 5)
#|     output e : [N, 32, 56, 56] f32 = u loc(18, 5)
#| }
