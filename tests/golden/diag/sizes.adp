adept 1
dim A in 1..0
dim B in 4..4
dim C in -1..4
dim D in 0..2.5
dim E in 0..=4294967296
dim S in 1..=8
const k = S
const l = S + 1
assert S / 2 == 3
assert S < 1
assert 1 == 2, "one is not two"
assert S + 1
assert S < 4 or S > 6
assert S < 4 and 3
model m {
    input a : [S, -1] f32
    input b : [2.5] f32
    input c : [1, 1, 1, 1, 1, 1, 1, 1, 1] f32
    input d : [..., 2] f32
    input e : [T] f32
    output z : [S] f32 = a
}
#| sizes.adp:2:10: error: the range ends before it begins
#|     2 | dim A in 1..0
#|       |          ^~~~
#| sizes.adp:3:1: error: the range of B is empty
#|     3 | dim B in 4..4
#|       | ^~~~~~~~~~~~~
#| sizes.adp:4:10: error: the range is not within 0..2^31
#|     4 | dim C in -1..4
#|       |          ^~~~~
#| sizes.adp:5:13: error: a range is between ints, this is a float
#|     5 | dim D in 0..2.5
#|       |             ^~~
#| sizes.adp:6:10: error: the range is not within 0..2^31
#|     6 | dim E in 0..=4294967296
#|       |          ^~~~~~~~~~~~~~
#| sizes.adp:8:11: error: a constant is needed, this is a size
#|     8 | const k = S
#|       |           ^
#| sizes.adp:9:11: error: a constant is needed, this is a size
#|     9 | const l = S + 1
#|       |           ^~~~~
#| sizes.adp:10:10: error: '/' does not work on sizes; '//' does
#|    10 | assert S / 2 == 3
#|       |          ^
#| sizes.adp:11:8: error: the assert never holds
#|    11 | assert S < 1
#|       |        ^~~~~
#| sizes.adp:12:8: error: the assert never holds: "one is not two"
#|    12 | assert 1 == 2, "one is not two"
#|       |        ^~~~~~
#| sizes.adp:13:8: error: an assert is about constants and sizes, this is a size
#|    13 | assert S + 1
#|       |        ^~~~~
#| sizes.adp:14:14: error: 'or' of two conditions on sizes is not supported yet
#|    14 | assert S < 4 or S > 6
#|       |              ^~
#| sizes.adp:15:14: error: 'and' needs bools, not a condition on sizes and an int
#|    15 | assert S < 4 and 3
#|       |              ^~~
#| sizes.adp:17:19: error: the size -1 is not from 0 to 2^31 - 1
#|    17 |     input a : [S, -1] f32
#|       |                   ^~
#| sizes.adp:18:16: error: a size is an integer, not a float
#|    18 |     input b : [2.5] f32
#|       |                ^~~
#| sizes.adp:19:15: error: the rank is over the limit of 8
#|    19 |     input c : [1, 1, 1, 1, 1, 1, 1, 1, 1] f32
#|       |               ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
#| sizes.adp:20:16: error: '...' stands only in signatures
#|    20 |     input d : [..., 2] f32
#|       |                ^~~
#| sizes.adp:21:16: error: unknown name T
#|    21 |     input e : [T] f32
#|       |                ^
