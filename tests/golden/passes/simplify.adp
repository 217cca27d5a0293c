# RUN: compile %s --passes=simplify --emit=graph -o -
adept 1

model simplify {
    dim N in 1..=8
    input x : [N, 4] f32
    input k : [N, 4] i32

    twice   = transpose(transpose(x, 0, 1), 0, 1)       # nothing moves
    one     = twice * 1.0 + 0.0                         # * 1 goes, + 0 stays: it turns -0 into 0
    same    = exp(x) + exp(twice)                       # one exp
    table   = sqrt(cast(arange(1, 5), f32)) / 2.0       # constants only: folded
    flat    = reshape(reshape(one, [N * 4]), [N, 2, 2]) # one reshape
    round   = cast(cast(x, f16), f32)                   # rounds: stays
    wide    = cast(cast(k > 0, i32), f32)               # loses nothing: one cast
    output y = same + table + round + wide
    output z = flat
    output w = k * 1 + 0
}
#| adept 1 ir
#| model simplify {
#|     dim N in 1..=8
#|     input x : [N, 4] f32 loc(6, 5)
#|     input k : [N, 4] i32 loc(7, 5)
#|     one : [N, 4] f32 = add(x, 0.0) loc(10, 27)
#|     same.exp : [N, 4] f32 = exp(x) loc(11, 15)
#|     same : [N, 4] f32 = add(same.exp, same.exp) loc(11, 22)
#|     const table.const : [4] f32 = [0.5, 0.7071067690849304, 0.8660253882408142, 1.0] loc(12, 45)
#|     flat : [N, 2, 2] f32 = reshape(one, shape=[N, 2, 2]) loc(13, 15)
#|     round.cast : [N, 4] f16 = cast(x, dtype=f16) loc(14, 20)
#|     round : [N, 4] f32 = cast(round.cast, dtype=f32) loc(14, 15)
#|     wide.greater : [N, 4] bool = greater(k, 0) loc(15, 27)
#|     wide : [N, 4] f32 = cast(wide.greater, dtype=f32) loc(15, 15)
#|     y.add : [N, 4] f32 = add(same, table.const) loc(16, 21)
#|     y.add.2 : [N, 4] f32 = add(y.add, round) loc(16, 29)
#|     output y : [N, 4] f32 = add(y.add.2, wide) loc(16, 37)
#|     output z : [N, 2, 2] f32 = flat loc(17, 5)
#|     output w : [N, 4] i32 = k loc(18, 5)
#| }
