adept 1
dim N in 1..=8
fn relu(x: [...] f32) -> [...] f32 { return maximum(x, 0) }
block B[K](x: [K, 2] f32, n: int, name: str = "a", scale: float = 2, flag: bool = false) -> [K, 2] f32 {
    if flag { return x }
    return relu(x) * scale + n
}
model m {
    input x : [N, 2] f32
    a = B(x)
    b = B(x, 1, 2)
    c = B(x, N)
    d = B(x, 1.5)
    e = B(x, n=1, m=2)
    f = B(x, 1, n=2)
    g = B(x, 1, "a", 2, true, 3)
    h = B(sum(x), 1)
    q, r = B(x, 1)
    s, t = split(x, [1, 1], axis=1), x
    u = split(x, [1, 1], axis=1)
    v = relu(x) at "path"
    w = x at "path"
    output y : [N, 2] f32 = relu(x)
}
#| calls2.adp:3:4: warning: relu hides the op of that name
#|     3 | fn relu(x: [...] f32) -> [...] f32 { return maximum(x, 0) }
#|       |    ^~~~
#| calls2.adp:10:9: error: B needs n
#|    10 |     a = B(x)
#|       |         ^
#| calls2.adp:11:17: error: name must be a constant string, not an int
#|    11 |     b = B(x, 1, 2)
#|       |                 ^
#| calls2.adp:11:9: note: in block B
#| calls2.adp:12:14: error: n must be a constant int, not a size
#|    12 |     c = B(x, N)
#|       |              ^
#| calls2.adp:12:9: note: in block B
#| calls2.adp:13:14: error: n must be a constant int, not a float
#|    13 |     d = B(x, 1.5)
#|       |              ^~~
#| calls2.adp:13:9: note: in block B
#| calls2.adp:14:19: error: B has no argument m
#|    14 |     e = B(x, n=1, m=2)
#|       |                   ^
#| calls2.adp:15:17: error: n is given twice
#|    15 |     f = B(x, 1, n=2)
#|       |                 ^
#| calls2.adp:16:31: error: B takes at most 5 arguments
#|    16 |     g = B(x, 1, "a", 2, true, 3)
#|       |                               ^
#| calls2.adp:17:11: error: x: f32 has another rank than [K, 2] f32
#|    17 |     h = B(sum(x), 1)
#|       |           ^~~~~~
#| calls2.adp:4:15: note: declared here
#| calls2.adp:17:9: note: in block B
#| calls2.adp:18:12: error: 2 targets, but the value has 1 part
#|    18 |     q, r = B(x, 1)
#|       |            ^~~~~~~
#| calls2.adp:19:12: error: 2 results for one name
#|    19 |     s, t = split(x, [1, 1], axis=1), x
#|       |            ^~~~~~~~~~~~~~~~~~~~~~~~
#| calls2.adp:20:9: error: 2 results for one name
#|    20 |     u = split(x, [1, 1], axis=1)
#|       |         ^~~~~~~~~~~~~~~~~~~~~~~~
#| calls2.adp:21:20: error: relu is a fn; a path belongs to blocks
#|    21 |     v = relu(x) at "path"
#|       |                    ^~~~~~
#| calls2.adp:22:9: error: `at` stands behind the call of a block
#|    22 |     w = x at "path"
#|       |         ^~~~~~~~~~~
