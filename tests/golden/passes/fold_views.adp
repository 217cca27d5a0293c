# RUN: compile %s --passes=decompose,fold-views --emit=graph -o -
adept 1

# Readers see through moves; an output that is a view of another tensor is a copy.
model views {
    dim N in 1..=8
    input x : [N, 6, 8] f32
    input s : [8] f32

    y = transpose(x[:, ::2, :], 0, 2) * 2.0
    output y2 = flatten(y) + reshape(x[:, 1:4, :], [N * 24])
    output t  = transpose(x, 0, 1)
    output x2 = x
    output e  = x + s[None, None, :]
}
#| adept 1 ir
#| model views {
#|     dim N in 1..=8
#|     input x : [N, 6, 8] f32 loc(7, 5)
#|     input s : [8] f32 loc(8, 5)
#|     y : [8, 3, N] f32 = multiply(transpose(x[:, ::2, :], a=0, b=2), 2.0) loc(10, 39)
#|     output y2 : [N * 24] f32 = add(flatten(y, end_dim=2), reshape(x[:, 1:4, :], shape=[N * 24])) loc(11, 28)
#|     e : [N, 6, 8] f32 = add(x, s[None, :][:, None, :]) loc(14, 19)
#|     output t : [6, N, 8] f32 = transpose(x, a=0, b=1) loc(12, 17)
#|     x.2 : [N, 6, 8] f32 = reshape(x, shape=[N, 6, 8])
#|     output x2 : [N, 6, 8] f32 = x.2 loc(13, 5)
#|     output e : [N, 6, 8] f32 = e loc(14, 5)
#| }
