adept 1
dim N in 1..=8
model m {
    input x : [N, 4, 8, 8] f32
    const t : [2] i32 = [0, 1]
    c3 = layer_norm(x, x)
    c4 = full([2, 2], "a", f32)
    c5 = relu(x) at "path"
    c6 = (x)(3)
    c7 = slice(x)
    c8 = quantize_linear(x, x)
    c9 = take(x, t)
    d1 = take(x, t, axis=9)
    d2 = where(x, x, x)
    d3 = embedding(x, x)
    d4 = sum(x, keepdims=1)
    d5 = arange(0, 4.5)
    d6 = tile(x, [1, 2])
    d7 = max(x, axis=None, dtype=f32)
    d8 = unfold(x, 1, 2, 3)
    d9 = [x, x]
    output y = x
}
#| arguments2.adp:6:10: error: layer_norm: x must have the shape of the axes from 3 on, [8] f32
#|     6 |     c3 = layer_norm(x, x)
#|       |          ^~~~~~~~~~ ~  ~ [N, 4, 8, 8] f32
#|       |                     [N, 4, 8, 8] f32
#| arguments2.adp:7:23: error: full: value must be a number, not a string
#|     7 |     c4 = full([2, 2], "a", f32)
#|       |                       ^~~
#| arguments2.adp:8:21: error: relu is no block; a path belongs to blocks
#|     8 |     c5 = relu(x) at "path"
#|       |                     ^~~~~~
#| arguments2.adp:9:11: error: unknown op, fn or block x
#|     9 |     c6 = (x)(3)
#|       |           ^
#| arguments2.adp:10:10: error: slice is no op of model files
#|    10 |     c7 = slice(x)
#|       |          ^~~~~
#| arguments2.adp:11:10: error: quantize_linear: x must have the shape [4]
#|    11 |     c8 = quantize_linear(x, x)
#|       |          ^~~~~~~~~~~~~~~ ~  ~ [N, 4, 8, 8] f32
#|       |                          [N, 4, 8, 8] f32
#| arguments2.adp:12:10: error: take needs axis
#|    12 |     c9 = take(x, t)
#|       |          ^~~~
#| arguments2.adp:13:10: error: take: axis 9 is outside a tensor of rank 4
#|    13 |     d1 = take(x, t, axis=9)
#|       |          ^~~~ ~  ~ [2] i32
#|       |               [N, 4, 8, 8] f32
#| arguments2.adp:14:10: error: where: x must be bool, not f32
#|    14 |     d2 = where(x, x, x)
#|       |          ^~~~~ ~  ~  ~ [N, 4, 8, 8] f32
#|       |                   [N, 4, 8, 8] f32
#|       |                [N, 4, 8, 8] f32
#| arguments2.adp:15:10: error: embedding: x must be i32, not f32
#|    15 |     d3 = embedding(x, x)
#|       |          ^~~~~~~~~ ~  ~ [N, 4, 8, 8] f32
#|       |                    [N, 4, 8, 8] f32
#| arguments2.adp:16:26: error: sum: keepdims must be true or false, not an int
#|    16 |     d4 = sum(x, keepdims=1)
#|       |                          ^
#| arguments2.adp:17:20: error: arange: stop must be a size, not a float
#|    17 |     d5 = arange(0, 4.5)
#|       |                    ^~~
#| arguments2.adp:18:10: error: tile: reps must have one number for each of the 4 axes
#|    18 |     d6 = tile(x, [1, 2])
#|       |          ^~~~ ~ [N, 4, 8, 8] f32
#| arguments2.adp:19:28: error: max has no argument dtype
#|    19 |     d7 = max(x, axis=None, dtype=f32)
#|       |                            ^~~~~
#| arguments2.adp:20:10: error: unfold is no op of model files
#|    20 |     d8 = unfold(x, 1, 2, 3)
#|       |          ^~~~~~
#| arguments2.adp:21:10: error: a name is assigned tensors, this is a list
#|    21 |     d9 = [x, x]
#|       |          ^~~~~~
