adept 1
const a = 3 +
const b = [1, 2,
    3]
dim N in 1 4
block F(x: [N] f32, y) -> f32 {
    return x
}
fn g(x: f32) f32 { return x }
model m {
    input x : [N f32
    y = foo(x, (y
    w = 3
    v = 1 < 2 < 3
    if a
    repeat i in 0 4 {
        q = 3
    }
    import other
    x, = f(x)
    output z : [N] f32 = F(x, 3)
    else {
    }
}
}
#| syntax.adp:3:1: error: unexpected 'const', expected an expression
#|     3 | const b = [1, 2,
#|       | ^~~~~
#| syntax.adp:5:12: error: unexpected '4', expected an operator, '..' or '..='
#|     5 | dim N in 1 4
#|       |            ^
#| syntax.adp:6:22: error: unexpected ')', expected ':'
#|     6 | block F(x: [N] f32, y) -> f32 {
#|       |                      ^
#| syntax.adp:9:14: error: unexpected 'f32', expected '->'
#|     9 | fn g(x: f32) f32 { return x }
#|       |              ^~~
#| syntax.adp:11:18: error: unexpected 'f32', expected an operator, ']' or ','
#|    11 |     input x : [N f32
#|       |                  ^~~
#| syntax.adp:13:5: error: unexpected 'w', expected an operator or ')'
#|    13 |     w = 3
#|       |     ^
#| syntax.adp:12:16: note: this '(' is not closed
#| syntax.adp:13:9: error: a name is assigned tensors, this is an int
#|    13 |     w = 3
#|       |         ^
#| help: write const w = ...
#| syntax.adp:14:15: error: unexpected '<', expected an operator, the end of the line, '}' or ','
#|    14 |     v = 1 < 2 < 3
#|       |               ^
#| help: comparisons do not chain; join two with `and`
#| syntax.adp:15:9: error: unexpected end of the line, expected an operator or '{'
#|    15 |     if a
#|       |         ^
#| syntax.adp:16:19: error: unexpected '4', expected an operator, '..' or '..='
#|    16 |     repeat i in 0 4 {
#|       |                   ^
#| syntax.adp:19:5: error: import is not in version 1
#|    19 |     import other
#|       |     ^~~~~~
#| syntax.adp:20:8: error: unexpected '=', expected a name
#|    20 |     x, = f(x)
#|       |        ^
#| syntax.adp:22:5: error: unexpected 'else', expected a statement, the end of the line or '}'
#|    22 |     else {
#|       |     ^~~~
#| help: `else` stands on the line of the '}' before it
#| syntax.adp:25:1: error: '}' closes nothing
#|    25 | }
#|       | ^
