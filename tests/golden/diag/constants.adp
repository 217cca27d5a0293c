adept 1
const a = 9223372036854775807 + 1
const b = 2 ** 64
const c = 1 / 0
const d = "x" + 1
const e = "x" < "y"
const f = not 3
const g = true and 1
const h = -"x"
const i = 1 @ 2
const j = maximum(1, "x")
const k = [1, unknown]
const l = None
const m : [2] f32 = [1, 2, 3]
const n : [2] i32 = [1, 2.5]
const o : [1] u8 = [256]
const p : [1] bool = [1]
const p2 : [2] f16 = [1, 1e5]
const q : [5000] f32 = [1]
const r : [2] q = [1, 2]
const s = "a {l} b"
const t = "{[1]}"
model m {
    input x : [2] f32
    output y : [2] f32 = x
}
#| constants.adp:2:31: error: the integer does not fit in 64 bits
#|     2 | const a = 9223372036854775807 + 1
#|       |                               ^
#| constants.adp:3:13: error: the integer does not fit in 64 bits
#|     3 | const b = 2 ** 64
#|       |             ^~
#| constants.adp:4:13: error: division by zero
#|     4 | const c = 1 / 0
#|       |             ^
#| constants.adp:5:15: error: '+' does not work on a string and an int
#|     5 | const d = "x" + 1
#|       |               ^
#| constants.adp:6:15: error: '<' cannot compare a string and a string
#|     6 | const e = "x" < "y"
#|       |               ^
#| constants.adp:7:11: error: 'not' does not work on an int
#|     7 | const f = not 3
#|       |           ^~~
#| constants.adp:8:16: error: 'and' needs bools, not a bool and an int
#|     8 | const g = true and 1
#|       |                ^~~
#| constants.adp:9:11: error: '-' does not work on a string
#|     9 | const h = -"x"
#|       |           ^
#| constants.adp:10:13: error: '@' needs tensors
#|    10 | const i = 1 @ 2
#|       |             ^
#| constants.adp:11:11: error: maximum does not work on an int and a string
#|    11 | const j = maximum(1, "x")
#|       |           ^~~~~~~
#| constants.adp:12:15: error: unknown name unknown
#|    12 | const k = [1, unknown]
#|       |               ^~~~~~~
#| constants.adp:13:11: error: a constant is needed, this is None
#|    13 | const l = None
#|       |           ^~~~
#| constants.adp:14:7: error: m: axis 0 needs a list of 2 elements
#|    14 | const m : [2] f32 = [1, 2, 3]
#|       |       ^
#| constants.adp:15:7: error: n: a float does not go into an integer tensor
#|    15 | const n : [2] i32 = [1, 2.5]
#|       |       ^
#| constants.adp:16:7: error: o: an element is out of range
#|    16 | const o : [1] u8 = [256]
#|       |       ^
#| constants.adp:17:7: error: p: bools go with bool alone
#|    17 | const p : [1] bool = [1]
#|       |       ^
#| constants.adp:18:7: error: p2: an element is infinite in this dtype
#|    18 | const p2 : [2] f16 = [1, 1e5]
#|       |       ^~
#| constants.adp:19:7: error: a const tensor has at most 4096 elements
#|    19 | const q : [5000] f32 = [1]
#|       |       ^
#| constants.adp:22:13: error: a list does not go into a string
#|    22 | const t = "{[1]}"
#|       |             ^~~
