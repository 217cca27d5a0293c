adept 1
const unused_const = 3
const used = 4
fn sum(x: [...] f32, _quiet: int = 1, loud: int = 2) -> [...] f32 {
    local = x * 2
    return x
}
model m {
    input x : [used] f32
    input spare : [used] f32
    param weight : [used] f32
    a = x + 1
    a = sum(x)
    b, c = split(x, [1, 3])
    _d = x * 3
    output y : [used] f32 = a
    output z = b
}
#| unused.adp:2:7: warning: const unused_const is never used
#|     2 | const unused_const = 3
#|       |       ^~~~~~~~~~~~
#| unused.adp:4:4: warning: sum hides the op of that name
#|     4 | fn sum(x: [...] f32, _quiet: int = 1, loud: int = 2) -> [...] f32 {
#|       |    ^~~
#| unused.adp:4:39: warning: formal loud is never used
#|     4 | fn sum(x: [...] f32, _quiet: int = 1, loud: int = 2) -> [...] f32 {
#|       |                                       ^~~~
#| unused.adp:5:5: warning: value local is never used
#|     5 |     local = x * 2
#|       |     ^~~~~
#| unused.adp:10:11: warning: input spare is never used
#|    10 |     input spare : [used] f32
#|       |           ^~~~~
#| unused.adp:11:11: warning: param weight is never used
#|    11 |     param weight : [used] f32
#|       |           ^~~~~~
#| unused.adp:12:5: warning: value a is never used
#|    12 |     a = x + 1
#|       |     ^
#| unused.adp:14:8: warning: value c is never used
#|    14 |     b, c = split(x, [1, 3])
#|       |        ^
