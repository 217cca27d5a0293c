adept 1
dim N in 1..=8
model m {
    input x : [N, 4] f32
    input i : [N, 4] i32
    b3 = relu(2.5)
    b4 = x @ x
    b5 = x[0, 0, 0]
    b6 = x[5:2]
    b7 = x[:, 4]
    b8 = x[:, ::-1]
    b9 = x[..., 0, ...]
    c1 = x[i]
    c2 = x[2.5]
    c3 = x.T.T.shape
    c4 = x[0].T
    c5 = x.foo
    output y : [N, 4] f16 = x
}
#| slices.adp:6:10: error: relu: no operand is a tensor
#|     6 |     b3 = relu(2.5)
#|       |          ^~~~
#| slices.adp:7:12: error: matmul: inner sizes differ: 4 and N
#|     7 |     b4 = x @ x
#|       |          ~ ^ ~ [N, 4] f32
#|       |          [N, 4] f32
#| help: x looks like a PyTorch [out, in] weight; write linear(x, x)
#| slices.adp:8:10: error: 3 indices for a tensor of rank 2, [N, 4] f32
#|     8 |     b5 = x[0, 0, 0]
#|       |          ^~~~~~~~~~
#| slices.adp:9:10: error: slice: start 5 is after end 2
#|     9 |     b6 = x[5:2]
#|       |          ^~~~~~
#|       |          [N, 4] f32
#| slices.adp:10:10: error: slice: 4:5 is outside axis 1 of size 4
#|    10 |     b7 = x[:, 4]
#|       |          ^~~~~~~
#|       |          [N, 4] f32
#| slices.adp:11:17: error: the step is a constant int of at least 1
#|    11 |     b8 = x[:, ::-1]
#|       |                 ^~
#| help: flip reverses an axis
#| slices.adp:12:10: error: '...' stands once in an index
#|    12 |     b9 = x[..., 0, ...]
#|       |          ^~~~~~~~~~~~~~
#| slices.adp:13:12: error: an index is an int, a size or a range, not a tensor
#|    13 |     c1 = x[i]
#|       |            ^
#| help: take(x, indices, axis) indexes by tensor
#| slices.adp:14:12: error: an index is an int, a size or a range, not a float
#|    14 |     c2 = x[2.5]
#|       |            ^~~
#| slices.adp:15:10: error: .shape is not in version 1
#|    15 |     c3 = x.T.T.shape
#|       |          ^~~~~~~~~~~
#| slices.adp:16:10: error: .T needs a tensor of rank 2, not 1
#|    16 |     c4 = x[0].T
#|       |          ^~~~~~
#| slices.adp:17:10: error: unknown member .foo; a tensor has .T and .mT
#|    17 |     c5 = x.foo
#|       |          ^~~~~
#| slices.adp:18:29: error: y is [N, 4] f32, not [N, 4] f16
#|    18 |     output y : [N, 4] f16 = x
#|       |                             ^
