adept 1
dim N in 1..=8
model m {
    input x : [N, 4, 8, 8] f32
    param w : [6, 4, 3, 3] f32
    a1 = conv2d(x)
    a2 = conv2d(x, w, None, 1, 1, 1, 1, f32, 9)
    a3 = conv2d(x, w, padding="sane")
    a4 = conv2d(x, w, stride=1.5)
    a5 = conv2d(x, w, stride=N)
    a6 = conv2d(x, w, strid=1)
    a7 = conv2d(x, w, weight=w)
    a8 = conv2d(weight=w, x)
    a9 = softmax(x, axis=4)
    b1 = sum(x, axis=[1, 1])
    b2 = gelu(x, approximate="tan")
    b3 = cast(x, "f32")
    b4 = cast(x, f64)
    b5 = cast(x)
    b6 = concat(x)
    b7 = concat([])
    b8 = concat([x, w])
    b9 = reshape(x, [N, 3, 5])
    c1 = pad(x, 1)
    c2 = topk(x, 3)
    output y = x
}
#| arguments.adp:6:10: error: conv2d needs weight
#|     6 |     a1 = conv2d(x)
#|       |          ^~~~~~
#| arguments.adp:7:46: error: conv2d takes at most 8 arguments
#|     7 |     a2 = conv2d(x, w, None, 1, 1, 1, 1, f32, 9)
#|       |                                              ^
#| arguments.adp:8:31: error: conv2d: padding must be "same" or "valid", not "sane"
#|     8 |     a3 = conv2d(x, w, padding="sane")
#|       |                               ^~~~~~
#| help: did you mean "same"?
#| arguments.adp:9:30: error: conv2d: stride must be a constant int or a list of them, not a float
#|     9 |     a4 = conv2d(x, w, stride=1.5)
#|       |                              ^~~
#| arguments.adp:10:30: error: conv2d: stride must be a constant int or a list of them, not a size
#|    10 |     a5 = conv2d(x, w, stride=N)
#|       |                              ^
#| arguments.adp:11:23: error: conv2d has no argument strid
#|    11 |     a6 = conv2d(x, w, strid=1)
#|       |                       ^~~~~
#| help: did you mean stride?
#| arguments.adp:12:23: error: conv2d: weight is given twice
#|    12 |     a7 = conv2d(x, w, weight=w)
#|       |                       ^~~~~~
#| arguments.adp:13:27: error: conv2d: positional arguments come before named ones
#|    13 |     a8 = conv2d(weight=w, x)
#|       |                           ^
#| arguments.adp:14:10: error: softmax: axis 4 is outside a tensor of rank 4
#|    14 |     a9 = softmax(x, axis=4)
#|       |          ^~~~~~~ ~ [N, 4, 8, 8] f32
#| arguments.adp:15:10: error: sum: axis names axis 1 twice
#|    15 |     b1 = sum(x, axis=[1, 1])
#|       |          ^~~ ~ [N, 4, 8, 8] f32
#| arguments.adp:16:30: error: gelu: approximate must be "none" or "tanh", not "tan"
#|    16 |     b2 = gelu(x, approximate="tan")
#|       |                              ^~~~~
#| help: did you mean "tanh"?
#| arguments.adp:17:18: error: cast: dtype must be a dtype, not a string
#|    17 |     b3 = cast(x, "f32")
#|       |                  ^~~~~
#| arguments.adp:18:18: error: f64 is not in version 1
#|    18 |     b4 = cast(x, f64)
#|       |                  ^~~
#| arguments.adp:19:10: error: cast needs dtype
#|    19 |     b5 = cast(x)
#|       |          ^~~~
#| arguments.adp:20:17: error: concat: x must be a list of tensors
#|    20 |     b6 = concat(x)
#|       |                 ^
#| arguments.adp:21:17: error: concat: x must be a list of tensors
#|    21 |     b7 = concat([])
#|       |                 ^~
#| arguments.adp:22:10: error: concat: sizes differ at axis 2: 8 and 3
#|    22 |     b8 = concat([x, w])
#|       |          ^~~~~~ ~~~~~~ [6, 4, 3, 3] f32
#|       |                 [N, 4, 8, 8] f32
#| arguments.adp:23:10: error: reshape: N * 256 elements cannot become [N, 3, 5] f32, which has N * 15
#|    23 |     b9 = reshape(x, [N, 3, 5])
#|       |          ^~~~~~~ ~ [N, 4, 8, 8] f32
#| arguments.adp:24:10: error: pad: widths must have one [before, after] for each of the 4 axes
#|    24 |     c1 = pad(x, 1)
#|       |          ^~~ ~ [N, 4, 8, 8] f32
#| arguments.adp:25:10: error: 2 results for one name
#|    25 |     c2 = topk(x, 3)
#|       |          ^~~~~~~~~~
