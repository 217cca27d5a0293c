adept 1
const width = 4
const width = 5
dim N in 1..=8
dim N in 1..=8
dim width in 1..=8
fn twice(x: [...] f32) -> [...] f32 { return x * 2 }
fn twice(x: [...] f32) -> [...] f32 { return x * 3 }
model m {
    input x : [N, width] f32
    input x : [N] f32
    y = x * widht
    z = tiwce(x)
    u = gelo(x)
    v = softmax(x, axes=1)
    w = twice(y=x)
    a = relu
    input o : f32
    b = twice
    x = relu(x)
    width = relu(x)
    N = x
    q = "text" + undefined_thing
    s[0] = x
    x[0] = x
    output o = x
    output o = x
}
#| names.adp:3:7: error: width is defined already
#|     3 | const width = 5
#|       |       ^~~~~
#| names.adp:2:7: note: it was defined here
#| names.adp:5:5: error: N is defined already
#|     5 | dim N in 1..=8
#|       |     ^
#| names.adp:4:5: note: it was defined here
#| names.adp:6:5: error: width is defined already
#|     6 | dim width in 1..=8
#|       |     ^~~~~
#| names.adp:3:7: note: it was defined here
#| names.adp:8:4: error: twice is defined already
#|     8 | fn twice(x: [...] f32) -> [...] f32 { return x * 3 }
#|       |    ^~~~~
#| names.adp:7:4: note: it was defined here
#| names.adp:11:11: error: x is defined already
#|    11 |     input x : [N] f32
#|       |           ^
#| names.adp:10:11: note: it was defined here
#| names.adp:12:13: error: unknown name widht
#|    12 |     y = x * widht
#|       |             ^~~~~
#| help: did you mean width?
#| names.adp:13:9: error: unknown op, fn or block tiwce
#|    13 |     z = tiwce(x)
#|       |         ^~~~~
#| help: did you mean twice?
#| names.adp:14:9: error: unknown op, fn or block gelo
#|    14 |     u = gelo(x)
#|       |         ^~~~
#| help: did you mean gelu?
#| names.adp:15:20: error: softmax has no argument axes
#|    15 |     v = softmax(x, axes=1)
#|       |                    ^~~~
#| help: did you mean axis?
#| names.adp:16:15: error: twice has no argument y
#|    16 |     w = twice(y=x)
#|       |               ^
#| names.adp:17:9: error: unknown name relu
#|    17 |     a = relu
#|       |         ^~~~
#| help: to call it, write relu(...)
#| names.adp:19:9: error: unknown name twice
#|    19 |     b = twice
#|       |         ^~~~~
#| help: to call it, write twice(...)
#| names.adp:20:5: error: x is an input and cannot be assigned
#|    20 |     x = relu(x)
#|       |     ^
#| names.adp:11:11: note: it was defined here
#| names.adp:21:5: error: width is a dim and cannot be assigned
#|    21 |     width = relu(x)
#|       |     ^~~~~
#| names.adp:6:5: note: it was defined here
#| names.adp:22:5: error: N is a dim and cannot be assigned
#|    22 |     N = x
#|       |     ^
#| names.adp:5:5: note: it was defined here
#| names.adp:23:18: error: unknown name undefined_thing
#|    23 |     q = "text" + undefined_thing
#|       |                  ^~~~~~~~~~~~~~~
#| names.adp:24:5: error: unknown state s
#|    24 |     s[0] = x
#|       |     ^
#| names.adp:26:12: error: o is defined already
#|    26 |     output o = x
#|       |            ^
#| names.adp:18:11: note: it was defined here
#| names.adp:27:12: error: o is defined already
#|    27 |     output o = x
#|       |            ^
#| names.adp:18:11: note: it was defined here
