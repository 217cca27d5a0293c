adept 1
dim S in 1..=8
fn g(n: int) -> int { return n }
model m {
    input a : [S] f32
    input f : [2147483648] f32
    input g : [S] f64
    input h : [S] i4
    input i : [S] flt32
    input j : [S] S
    if S == 2 {
        x = a
    }
    if 3 { y = a }
    if S { y = a }
    b : [S] f16 = a
    c : [S + 1] f32 = a
    d : [S, 1] f32 = a
    e : f32 = 2.5
    k : i32 = 2.5
    l = g(1)
    o : int = a
    output z : [S] f32 = a
}
#| types.adp:3:17: error: unexpected 'int', expected a name, a dtype, '(' or '['
#|     3 | fn g(n: int) -> int { return n }
#|       |                 ^~~
#| types.adp:6:16: error: the size 2147483648 is not from 0 to 2^31 - 1
#|     6 |     input f : [2147483648] f32
#|       |                ^~~~~~~~~~
#| types.adp:7:19: error: f64 is not in version 1
#|     7 |     input g : [S] f64
#|       |                   ^~~
#| types.adp:8:19: error: i4 stands only behind `as`
#|     8 |     input h : [S] i4
#|       |                   ^~
#| types.adp:9:19: error: unknown dtype flt32
#|     9 |     input i : [S] flt32
#|       |                   ^~~~~
#| help: did you mean f32?
#| types.adp:10:19: error: S is a size, not a dtype
#|    10 |     input j : [S] S
#|       |                   ^
#| types.adp:11:8: error: an if needs a constant bool, this is a condition on sizes
#|    11 |     if S == 2 {
#|       |        ^~~~~~
#| types.adp:14:8: error: an if needs a constant bool, this is an int
#|    14 |     if 3 { y = a }
#|       |        ^
#| types.adp:15:8: error: an if needs a constant bool, this is a size
#|    15 |     if S { y = a }
#|       |        ^
#| types.adp:16:19: error: b is [S] f32, not [S] f16
#|    16 |     b : [S] f16 = a
#|       |                   ^
#| types.adp:17:23: error: c is [S] f32, not [S + 1] f32
#|    17 |     c : [S + 1] f32 = a
#|       |                       ^
#| types.adp:18:22: error: d is [S] f32, not [S, 1] f32
#|    18 |     d : [S, 1] f32 = a
#|       |                      ^
#| types.adp:20:15: error: a float does not go with i32
#|    20 |     k : i32 = 2.5
#|       |               ^~~
#| types.adp:22:9: error: unexpected 'int', expected a name, a dtype or '['
#|    22 |     o : int = a
#|       |         ^~~
