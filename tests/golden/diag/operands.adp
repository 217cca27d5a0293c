adept 1
dim N in 1..=8
model m {
    input x : [N, 4] f32
    input h : [N, 4] f16
    input i : [N, 4] i32
    input u : [N, 4] u8
    input b : [N, 4] bool
    a1 = x + h
    a2 = i + 2.5
    a3 = i + 3000000000
    a4 = h + 1e30
    a5 = b + 1
    a6 = b and x
    a7 = u + u
    a8 = x + "text"
    a9 = x + None
    b1 = x + [1, 2]
    b2 = i / 2
    output y : [N, 4] f32 = x
}
#| operands.adp:9:12: error: add: operands are f32 and f16
#|     9 |     a1 = x + h
#|       |          ~ ^ ~ [N, 4] f16
#|       |          [N, 4] f32
#| help: nothing is converted silently; write cast(h, f32)
#| operands.adp:10:14: error: a float does not go with i32
#|    10 |     a2 = i + 2.5
#|       |              ^~~
#| operands.adp:11:14: error: 3000000000 does not fit in i32
#|    11 |     a3 = i + 3000000000
#|       |              ^~~~~~~~~~
#| operands.adp:12:14: error: the number is infinite in f16
#|    12 |     a4 = h + 1e30
#|       |              ^~~~
#| operands.adp:13:14: error: an int does not go with bool
#|    13 |     a5 = b + 1
#|       |              ^
#| operands.adp:14:12: error: logical_and: x must be bool, not f32
#|    14 |     a6 = b and x
#|       |          ~ ^~~ ~ [N, 4] f32
#|       |          [N, 4] bool
#| operands.adp:15:12: error: add: u must be f32, f16, bf16, i32 or u32, not u8
#|    15 |     a7 = u + u
#|       |          ~ ^ ~ [N, 4] u8
#|       |          [N, 4] u8
#| operands.adp:16:14: error: add: y must be a tensor, not a string
#|    16 |     a8 = x + "text"
#|       |              ^~~~~~
#| operands.adp:17:14: error: add: y cannot be None
#|    17 |     a9 = x + None
#|       |              ^~~~
#| operands.adp:18:14: error: add: y must be a tensor, not a list
#|    18 |     b1 = x + [1, 2]
#|       |              ^~~~~~
#| operands.adp:19:12: error: divide: i must be a float (f32, f16, bf16), not i32
#|    19 |     b2 = i / 2
#|       |          ~ ^ ~ i32
#|       |          [N, 4] i32
#| help: integers divide with //, which rounds down
