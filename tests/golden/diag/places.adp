adept 1
fn f(x: f32) -> f32 {
    input y : f32
    dim A in 0..4
    repeat i in 0..2 { return x }
    return x
}
block B(x: f32) -> f32 {
    output o : f32 = x
    return x
}
model m {
    input x : f32
    input n : i32
    a = f(x)
    b = B(x)
    h = x
    repeat i in 0..3 {
        input z : f32
        dim C in 0..4
        output q : f32 = x
        h = h * i
        h2 = h + f(i)
        k : [1] f32 = x[None]
        c = "{i}"
        if i == 2 { h = x }
        if "{i}" == "2" { h = x }
        assert 1 < 2, "trip {i}"
        m = gelu(x, approximate="{i}")
    }
    repeat j in 0..5000 { h = h + 1 }
    repeat k in 3..1 { h = h + 1 }
    repeat l in 0..n { h = h + 1 }
    g = x
    repeat o in 0..2 { g = cast(g, f16) }
    repeat p in 0..2 { g = g[None] }
    return x
    output y : f32 = h
}
#| places.adp:3:5: error: input and output stand at the top of the model
#|     3 |     input y : f32
#|       |     ^~~~~~~~~~~~~
#| places.adp:15:9: note: in fn f
#| places.adp:4:5: error: dim stands in the file and the model
#|     4 |     dim A in 0..4
#|       |     ^~~~~~~~~~~~~
#| places.adp:15:9: note: in fn f
#| places.adp:5:24: error: return stands in fns and blocks, not in a repeat
#|     5 |     repeat i in 0..2 { return x }
#|       |                        ^~~~~~~~
#| places.adp:5:5: note: in repeat i in 0..2
#| places.adp:15:9: note: in fn f
#| places.adp:9:5: error: input and output stand at the top of the model
#|     9 |     output o : f32 = x
#|       |     ^~~~~~~~~~~~~~~~~~
#| places.adp:16:9: note: in block B
#| places.adp:19:9: error: input and output stand at the top of the model
#|    19 |         input z : f32
#|       |         ^~~~~~~~~~~~~
#| places.adp:18:5: note: in repeat i in 0..3
#| places.adp:20:9: error: dim stands in the file and the model
#|    20 |         dim C in 0..4
#|       |         ^~~~~~~~~~~~~
#| places.adp:18:5: note: in repeat i in 0..3
#| places.adp:21:9: error: input and output stand at the top of the model
#|    21 |         output q : f32 = x
#|       |         ^~~~~~~~~~~~~~~~~~
#| places.adp:18:5: note: in repeat i in 0..3
#| places.adp:22:17: error: i counts a repeat; it may stand only in strings, as "{i}"
#|    22 |         h = h * i
#|       |                 ^
#| places.adp:18:5: note: in repeat i in 0..3
#| places.adp:23:20: error: i counts a repeat; it may stand only in strings, as "{i}"
#|    23 |         h2 = h + f(i)
#|       |                    ^
#| places.adp:18:5: note: in repeat i in 0..3
#| places.adp:25:13: error: a name is assigned tensors, this is a string
#|    25 |         c = "{i}"
#|       |             ^~~~~
#| places.adp:18:5: note: in repeat i in 0..3
#| help: write const c = ...
#| places.adp:26:12: error: i counts a repeat; it may stand only in strings, as "{i}"
#|    26 |         if i == 2 { h = x }
#|       |            ^
#| places.adp:18:5: note: in repeat i in 0..3
#| places.adp:27:18: error: the counter of a repeat stands only in paths and in names of tensors
#|    27 |         if "{i}" == "2" { h = x }
#|       |                  ^~
#| places.adp:18:5: note: in repeat i in 0..3
#| places.adp:28:30: error: i counts a repeat; it may stand only in strings, as "{i}"
#|    28 |         assert 1 < 2, "trip {i}"
#|       |                              ^
#| places.adp:18:5: note: in repeat i in 0..3
#| places.adp:29:33: error: the counter of a repeat stands only in paths and in names of tensors
#|    29 |         m = gelu(x, approximate="{i}")
#|       |                                 ^~~~~
#| places.adp:18:5: note: in repeat i in 0..3
#| places.adp:31:5: error: the repeat has more than 4096 trips
#|    31 |     repeat j in 0..5000 { h = h + 1 }
#|       |     ^~~~~~~~~~~~~~~~~~~
#| places.adp:32:17: error: the range ends before it begins
#|    32 |     repeat k in 3..1 { h = h + 1 }
#|       |                 ^~~~
#| places.adp:33:20: error: a constant is needed, this is a tensor
#|    33 |     repeat l in 0..n { h = h + 1 }
#|       |                    ^
#| places.adp:35:24: error: g, carried through the repeat, is f16, not f32
#|    35 |     repeat o in 0..2 { g = cast(g, f16) }
#|       |                        ^
#| places.adp:35:5: note: in repeat o in 0..2
#| places.adp:36:24: error: g, carried through the repeat, is [1] f32, not f32
#|    36 |     repeat p in 0..2 { g = g[None] }
#|       |                        ^
#| places.adp:36:5: note: in repeat p in 0..2
#| places.adp:37:5: error: return stands in fns and blocks, not in a repeat
#|    37 |     return x
#|       |     ^~~~~~~~
