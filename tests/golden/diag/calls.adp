adept 1
dim N in 1..=8
fn size_alone[A](x: [A + 1] f32) -> f32 { return sum(x) }
fn twice_named(x: f32, x: f32) -> f32 { return x }
fn dots(x: f32) -> [...] f32 { return x }
fn two_dots(x: [..., ...] f32) -> f32 { return sum(x) }
fn no_return(x: [...] f32) -> [...] f32 { y = x }
fn wrong_type(x: [...] f32) -> [..., 2] f32 { return x }
fn wrong_count(x: [...] f32) -> ([...] f32, [...] f32) { return x }
fn again(x: [...] f32) -> [...] f32 { return again(x) }
fn relu(x: [...] f32) -> [...] f32 { return maximum(x, 0) }
fn owns(x: [...] f32) -> [...] f32 {
    param w : [2] f32
    return x * w
}
fn calls_block(x: [N, 2] f32) -> [N, 2] f32 { return B(x, 2) }
block B[K](x: [K, 2] f32, n: int, name: str = "a", scale: float = 2, flag: bool = false) -> [K, 2] f32 {
    if flag { return x }
    return relu(x) * scale + n
}
model m {
    input x : [N, 2] f32
    i = no_return(x)
    j = wrong_type(x)
    k = wrong_count(x)
    l = again(x)
    o = owns(x)
    p = calls_block(x)
    output y : [N, 2] f32 = relu(x)
}
#| calls.adp:3:15: error: the size parameter A stands alone in no formal's shape
#|     3 | fn size_alone[A](x: [A + 1] f32) -> f32 { return sum(x) }
#|       |               ^
#| calls.adp:4:24: error: x is defined already
#|     4 | fn twice_named(x: f32, x: f32) -> f32 { return x }
#|       |                        ^
#| calls.adp:5:20: error: '...' stands in no formal's shape
#|     5 | fn dots(x: f32) -> [...] f32 { return x }
#|       |                    ^~~~~~~~~
#| calls.adp:6:16: error: '...' stands once in a shape
#|     6 | fn two_dots(x: [..., ...] f32) -> f32 { return sum(x) }
#|       |                ^~~~~~~~~~~~~~
#| calls.adp:7:4: error: no_return comes to its end without a return
#|     7 | fn no_return(x: [...] f32) -> [...] f32 { y = x }
#|       |    ^~~~~~~~~
#| calls.adp:23:9: note: in fn no_return
#| calls.adp:8:54: error: the result is [N, 2] f32, not [N, 2, 2] f32
#|     8 | fn wrong_type(x: [...] f32) -> [..., 2] f32 { return x }
#|       |                                                      ^
#| calls.adp:24:9: note: in fn wrong_type
#| calls.adp:9:65: error: wrong_count is declared to return 2 values, this is 1
#|     9 | fn wrong_count(x: [...] f32) -> ([...] f32, [...] f32) { return x }
#|       |                                                                 ^
#| calls.adp:25:9: note: in fn wrong_count
#| calls.adp:10:46: error: again calls itself; recursion is not possible
#|    10 | fn again(x: [...] f32) -> [...] f32 { return again(x) }
#|       |                                              ^~~~~
#| calls.adp:26:9: note: in fn again
#| calls.adp:11:4: warning: relu hides the op of that name
#|    11 | fn relu(x: [...] f32) -> [...] f32 { return maximum(x, 0) }
#|       |    ^~~~
#| calls.adp:13:5: error: a fn is pure; param and state stand in the model and in blocks
#|    13 |     param w : [2] f32
#|       |     ^~~~~~~~~~~~~~~~~
#| calls.adp:27:9: note: in fn owns
#| calls.adp:14:16: error: unknown name w
#|    14 |     return x * w
#|       |                ^
#| calls.adp:27:9: note: in fn owns
#| calls.adp:16:54: error: a fn is pure; it cannot call the block B
#|    16 | fn calls_block(x: [N, 2] f32) -> [N, 2] f32 { return B(x, 2) }
#|       |                                                      ^
#| calls.adp:28:9: note: in fn calls_block
