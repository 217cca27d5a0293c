# RUN: compile %s --passes=decompose,push-moves,tidy --emit=graph -o -
adept 1

model push {
    dim N in 1..=8
    input x : [N, 6, 8] f32
    param w : [10, 8] f32
    param b : [10] f32

    # Up to the load of x.
    output hoisted = relu(transpose(exp(x), 1, 2))
    # Through the bias into the contract, whose sides change places.
    output swapped = tanh(transpose(linear(x[:, 0, :], w, b), 0, 1))
    # Below the map, as the contract cannot give merged axes.
    flat = tanh(reshape(linear(x, w), [N * 3, 20]))
    output sunk = flat @ transpose(flat, 0, 1)
    # Not through a row: it would be torn apart.
    output row = relu(transpose(softmax(x), 0, 1))
}
#| adept 1 ir
#| model push {
#|     dim N in 1..=8
#|     input x : [N, 6, 8] f32 loc(6, 5)
#|     param w : [10, 8] f32 from "/w" loc(7, 5)
#|     param b : [10] f32 from "/b" loc(8, 5)
#|     hoisted.transpose.moved : [N, 8, 6] f32 = permute_dims(x, axes=[0, 2, 1]) loc(11, 37)
#|     hoisted.exp : [N, 8, 6] f32 = exp(hoisted.transpose.moved) loc(11, 37)
#|     output hoisted : [N, 8, 6] f32 = relu(hoisted.exp) loc(11, 22)
#|     swapped.slice : [N, 1, 8] f32 = x[:, 0:1, :] loc(13, 44)
#|     swapped.squeeze : [N, 8] f32 = squeeze(swapped.slice, axis=1) loc(13, 44)
#|     swapped.linear.contract : [10, N] f32 = contract(w, swapped.squeeze) loc(13, 37)
#|     swapped.transpose.spread : [10, 1] f32 = reshape(b, shape=[10, 1]) loc(13, 37)
#|     swapped.linear : [10, N] f32 = add(swapped.linear.contract, swapped.transpose.spread) loc(13, 37)
#|     output swapped : [10, N] f32 = tanh(swapped.linear) loc(13, 22)
#|     flat.linear : [N, 6, 10] f32 = contract(x, w) loc(15, 25)
#|     flat : [N, 6, 10] f32 = tanh(flat.linear) loc(15, 12)
#|     flat.tanh.moved : [N * 3, 20] f32 = reshape(flat, shape=[N * 3, 20]) loc(15, 12)
#|     output sunk : [N * 3, N * 3] f32 = contract(flat.tanh.moved, flat.tanh.moved) loc(16, 24)
#|     row.softmax.max : [N, 6] f32 = max(x, axis=2) loc(18, 33)
#|     row.softmax.keep : [N, 6, 1] f32 = row.softmax.max[:, :, None] loc(18, 33)
#|     row.softmax.shifted : [N, 6, 8] f32 = subtract(x, row.softmax.keep) loc(18, 33)
#|     row.softmax.exp : [N, 6, 8] f32 = exp(row.softmax.shifted) loc(18, 33)
#|     row.softmax.sum : [N, 6] f32 = sum(row.softmax.exp, axis=2) loc(18, 33)
#|     row.softmax.keep.2 : [N, 6, 1] f32 = row.softmax.sum[:, :, None] loc(18, 33)
#|     row.softmax : [N, 6, 8] f32 = divide(row.softmax.exp, row.softmax.keep.2) loc(18, 33)
#|     row.transpose : [6, N, 8] f32 = transpose(row.softmax, a=0, b=1) loc(18, 23)
#|     output row : [6, N, 8] f32 = relu(row.transpose) loc(18, 18)
#| }
