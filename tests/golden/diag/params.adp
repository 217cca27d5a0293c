adept 1
dim N in 1..=8
const W = "q9_0"
const V = [1]
block B(x: [N] f32) -> [N] f32 {
    state s : [4] f32
    s[0] = 1
    return x + s[0]
}
model m {
    input x : [N] f32
    param a : [N] f32
    param b : [4] f32 as q8_0
    param c : [4] f32 as i4(group=32)
    param c2 : [4] f32 as f32(group=32)
    param d : [4] f32 as sparse24
    param e : [4] f32 as q4_q
    param f : [4] f32 as W
    param g : [4] f32 as V
    param h : [4] i32 as f16
    param i : [4] f32 as i8
    param j : [4] f32 from ""
    param k : f32 from "experts.{*}.w"
    param l : [4] f32 from "a{{b}}"
    param o : [4] f32 as f8e4m3(group=[128, 128])
    state s : [N] f32
    state t : [4] f32 = "x"
    state u : [4] i32 = 2.5
    state v : [4] u8 = 256
    state w : [4] f32 from "{*}"
    r = B(x) at "one"
    r2 = B(r) at "one"
    repeat n in 0..3 { r2 = B(r2) at "many" }
    s2 = t
    t = x
    t[0:9] = x
    t[None] = 3
    output y : [N] f32 = r2 from ""
}
#| params.adp:6:11: error: there is a state "one.s" already
#|     6 |     state s : [4] f32
#|       |           ^
#| params.adp:6:11: note: it was declared here
#| params.adp:32:10: note: in block B at "one"
#| params.adp:12:15: error: the shape of a must be constant, not [N] f32
#|    12 |     param a : [N] f32
#|       |               ^~~~~~~
#| params.adp:13:26: error: the storage q8_0 is not supported yet
#|    13 |     param b : [4] f32 as q8_0
#|       |                          ^~~~
#| params.adp:14:26: error: the storage i4(...) is not supported yet
#|    14 |     param c : [4] f32 as i4(group=32)
#|       |                          ^~~~~~~~~~~~
#| params.adp:15:27: error: the storage f32(...) is not supported yet
#|    15 |     param c2 : [4] f32 as f32(group=32)
#|       |                           ^~~~~~~~~~~~~
#| params.adp:16:26: error: the storage sparse24 is not in version 1
#|    16 |     param d : [4] f32 as sparse24
#|       |                          ^~~~~~~~
#| params.adp:17:26: error: unknown storage q4_q
#|    17 |     param e : [4] f32 as q4_q
#|       |                          ^~~~
#| help: did you mean q4_0?
#| params.adp:18:26: error: unknown storage q9_0
#|    18 |     param f : [4] f32 as W
#|       |                          ^
#| help: did you mean q8_0?
#| params.adp:19:26: error: V is a list, not a storage
#|    19 |     param g : [4] f32 as V
#|       |                          ^
#| params.adp:20:26: error: a param of i32 is stored as it is
#|    20 |     param h : [4] i32 as f16
#|       |                          ^~~
#| params.adp:21:26: error: the storage i8(...) is not supported yet
#|    21 |     param i : [4] f32 as i8
#|       |                          ^~
#| params.adp:22:28: error: the name is empty
#|    22 |     param j : [4] f32 from ""
#|       |                            ^~
#| params.adp:23:15: error: '{*}' stacks tensors along the first axis; this has none
#|    23 |     param k : f32 from "experts.{*}.w"
#|       |               ^~~
#| params.adp:24:28: error: braces in a name of tensors are not supported yet
#|    24 |     param l : [4] f32 from "a{{b}}"
#|       |                            ^~~~~~~~
#| params.adp:25:26: error: the storage f8e4m3(...) is not supported yet
#|    25 |     param o : [4] f32 as f8e4m3(group=[128, 128])
#|       |                          ^~~~~~~~~~~~~~~~~~~~~~~~
#| params.adp:26:15: error: the shape of s must be constant, not [N] f32
#|    26 |     state s : [N] f32
#|       |               ^~~~~~~
#| params.adp:27:25: error: a state of f32 does not begin as a string
#|    27 |     state t : [4] f32 = "x"
#|       |                         ^~~
#| params.adp:28:25: error: a state of i32 does not begin as a float
#|    28 |     state u : [4] i32 = 2.5
#|       |                         ^~~
#| params.adp:29:24: error: the initial value does not fit in u8
#|    29 |     state v : [4] u8 = 256
#|       |                        ^~~
#| params.adp:30:28: error: '{*}' stands only in the keys of params
#|    30 |     state w : [4] f32 from "{*}"
#|       |                            ^~~~~
#| 1 more error not shown
