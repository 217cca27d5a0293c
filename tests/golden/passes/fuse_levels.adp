# RUN: compile %s --emit=graph -o -
# A chain of moves that no kernel could read at once is copied in its middle.
adept 1
model levels {
    dim N in 1..=8
    input x : [N, 60] f32
    a = reshape(x, [N, 4, 15]).mT
    b = reshape(a, [N, 10, 6]).mT
    c = reshape(b, [N, 12, 5]).mT
    d = reshape(c, [N, 20, 3]).mT
    e = reshape(d, [N, 15, 4]).mT
    output y : [N, 10, 6] f32 = reshape(e, [N, 6, 10]).mT + 1
}
#| adept 1 ir
#| model levels {
#|     dim N in 1..=8
#|     input x : [N, 60] f32 loc(6, 5)
#|     fused k0(family="map", reason="so long a chain of moves is copied in its middle") -> c.copy {
#|         c.copy : [N, 5, 12] f32 = transpose(reshape(transpose(reshape(transpose(reshape(x, shape=[N, 4, 15]), a=1, b=2), shape=[N, 10, 6]), a=1, b=2), shape=[N, 12, 5]), a=1, b=2) loc(9, 9)
#|     }
#|     fused k1(family="map") -> y {
#|         output y : [N, 10, 6] f32 = add(transpose(reshape(transpose(reshape(transpose(reshape(c.copy, shape=[N, 20, 3]), a=1, b=2), shape=[N, 15, 4]), a=1, b=2), shape=[N, 6, 10]), a=1, b=2), 1.0) loc(12, 59)
#|     }
#| }
