adept 1 ir
model m {
    input x : [2] f32 loc(1)
    a : [3] f32 = add(x, 1.0) loc(2, 3)
    fused k(kind="map") -> b {
        b : [2] f32 = relu(x)
    }
    fused l(family="map") -> nothing {
        c : [2] f32 = unfold(x)
    }
    output y : [2] f32 = x loc("f.adp")
}
#| in_dump.adp:3:27: error: loc has a line without a column
#|     3 |     input x : [2] f32 loc(1)
#|       |                           ^
#| in_dump.adp:4:19: error: a is [2] f32, not [3] f32
#|     4 |     a : [3] f32 = add(x, 1.0) loc(2, 3)
#|       |                   ^~~~~~~~~~~
#| in_dump.adp:5:5: error: fused needs a family
#|     5 |     fused k(kind="map") -> b {
#|       |     ^~~~~~~~~~~~~~~~~~~~~~~~
#| in_dump.adp:5:18: error: fused takes family, prepare and reason
#|     5 |     fused k(kind="map") -> b {
#|       |                  ^~~~~
#| in_dump.adp:8:30: error: unknown name nothing
#|     8 |     fused l(family="map") -> nothing {
#|       |                              ^~~~~~~
#| in_dump.adp:9:23: error: unfold needs axis
#|     9 |         c : [2] f32 = unfold(x)
#|       |                       ^~~~~~
#| in_dump.adp:9:23: error: unfold needs kernel
#|     9 |         c : [2] f32 = unfold(x)
#|       |                       ^~~~~~
#| in_dump.adp:9:23: error: unfold needs count
#|     9 |         c : [2] f32 = unfold(x)
#|       |                       ^~~~~~
