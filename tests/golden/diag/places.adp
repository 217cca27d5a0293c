adept 1
fn f(x: f32) -> f32 {
    input y : f32
    dim A in 0..4
    repeat i in 0..2 { return x }
    return x
}
const called = f(1)
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
#| places.adp:16:9: note: in fn f
#| places.adp:4:5: error: dim stands in the file and the model
#|     4 |     dim A in 0..4
#|       |     ^~~~~~~~~~~~~
#| places.adp:16:9: note: in fn f
#| places.adp:5:24: error: return stands in fns and blocks, not in a repeat
#|     5 |     repeat i in 0..2 { return x }
#|       |                        ^~~~~~~~
#| places.adp:5:5: note: in repeat i in 0..2
#| places.adp:16:9: note: in fn f
#| places.adp:8:16: error: f cannot be called at file level
#|     8 | const called = f(1)
#|       |                ^
#| places.adp:10:5: error: input and output stand at the top of the model
#|    10 |     output o : f32 = x
#|       |     ^~~~~~~~~~~~~~~~~~
#| places.adp:17:9: note: in block B
#| places.adp:20:9: error: input and output stand at the top of the model
#|    20 |         input z : f32
#|       |         ^~~~~~~~~~~~~
#| places.adp:19:5: note: in repeat i in 0..3
#| places.adp:21:9: error: dim stands in the file and the model
#|    21 |         dim C in 0..4
#|       |         ^~~~~~~~~~~~~
#| places.adp:19:5: note: in repeat i in 0..3
#| places.adp:22:9: error: input and output stand at the top of the model
#|    22 |         output q : f32 = x
#|       |         ^~~~~~~~~~~~~~~~~~
#| places.adp:19:5: note: in repeat i in 0..3
#| places.adp:23:17: error: i counts a repeat; it may stand only in strings, as "{i}"
#|    23 |         h = h * i
#|       |                 ^
#| places.adp:19:5: note: in repeat i in 0..3
#| places.adp:24:20: error: i counts a repeat; it may stand only in strings, as "{i}"
#|    24 |         h2 = h + f(i)
#|       |                    ^
#| places.adp:19:5: note: in repeat i in 0..3
#| places.adp:26:13: error: a name is assigned tensors, this is a string
#|    26 |         c = "{i}"
#|       |             ^~~~~
#| places.adp:19:5: note: in repeat i in 0..3
#| help: write const c = ...
#| places.adp:27:12: error: i counts a repeat; it may stand only in strings, as "{i}"
#|    27 |         if i == 2 { h = x }
#|       |            ^
#| places.adp:19:5: note: in repeat i in 0..3
#| places.adp:28:18: error: the counter of a repeat stands only in paths and in names of tensors
#|    28 |         if "{i}" == "2" { h = x }
#|       |                  ^~
#| places.adp:19:5: note: in repeat i in 0..3
#| places.adp:29:30: error: i counts a repeat; it may stand only in strings, as "{i}"
#|    29 |         assert 1 < 2, "trip {i}"
#|       |                              ^
#| places.adp:19:5: note: in repeat i in 0..3
#| places.adp:30:33: error: the counter of a repeat stands only in paths and in names of tensors
#|    30 |         m = gelu(x, approximate="{i}")
#|       |                                 ^~~~~
#| places.adp:19:5: note: in repeat i in 0..3
#| places.adp:32:5: error: the repeat has more than 4096 trips
#|    32 |     repeat j in 0..5000 { h = h + 1 }
#|       |     ^~~~~~~~~~~~~~~~~~~
#| places.adp:33:17: error: the range ends before it begins
#|    33 |     repeat k in 3..1 { h = h + 1 }
#|       |                 ^~~~
#| places.adp:34:20: error: a constant is needed, this is a tensor
#|    34 |     repeat l in 0..n { h = h + 1 }
#|       |                    ^
#| places.adp:36:24: error: g, carried through the repeat, is f16, not f32
#|    36 |     repeat o in 0..2 { g = cast(g, f16) }
#|       |                        ^
#| places.adp:36:5: note: in repeat o in 0..2
#| places.adp:37:24: error: g, carried through the repeat, is [1] f32, not f32
#|    37 |     repeat p in 0..2 { g = g[None] }
#|       |                        ^
#| places.adp:37:5: note: in repeat p in 0..2
#| 1 more error not shown
