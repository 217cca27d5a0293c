# RUN: compile %s --target h200 --passes=decompose,fold-views,transpose-b,fuse,move-to-prepare --emit=graph -o -
adept 1

# The H200 prefers f16 along N, i8 along K. A weight is packed once, with its cast; a tensor is
# transposed where the product is large enough; few rows are read along K.
model orders {
    dim S in 1..=512
    input x : [4096, 4096] f16
    input q : [4096, 4096] i8
    input r : [4096, 4096] i8
    input c : [512, 4096] f16
    input s : [S, 4096] f16
    param w : [4096, 4096] f16 as bf16
    param v : [4096, 4096] i8
    param u : [4096, 4096] f16

    output y = linear(x, w)
    output z = q @ v
    output t = q @ r
    output d = linear(c, u)
    output e = linear(s, u)
}
#| adept 1 ir
#| model orders {
#|     dim S in 1..=512
#|     input x : [4096, 4096] f16 loc(8, 5)
#|     input q : [4096, 4096] i8 loc(9, 5)
#|     input r : [4096, 4096] i8 loc(10, 5)
#|     fused k0(family="map", reason="a product reads it in this order") -> r.packed {
#|         r.packed : [4096, 4096] i8 = permute_dims(r, axes=[1, 0]) loc(10, 5)
#|     }
#|     input c : [512, 4096] f16 loc(11, 5)
#|     input s : [S, 4096] f16 loc(12, 5)
#|     param w.stored : [4096, 4096] bf16 from "/w" loc(13, 5)
#|     fused k1(family="map", prepare=true) -> w.packed {
#|         w.packed : [4096, 4096] f16 = cast(permute_dims(w.stored, axes=[1, 0]), dtype=f16) loc(13, 5)
#|     }
#|     param v : [4096, 4096] i8 from "/v" loc(14, 5)
#|     fused k2(family="map", prepare=true, reason="a product reads it in this order") -> v.packed {
#|         v.packed : [4096, 4096] i8 = permute_dims(v, axes=[1, 0]) loc(14, 5)
#|     }
#|     param u : [4096, 4096] f16 from "/u" loc(15, 5)
#|     fused k3(family="contract") -> y {
#|         output y : [4096, 4096] f16 = contract(x, permute_dims(w.packed, axes=[1, 0]), reason="B packed once along N: along K 521 us, along N 448") loc(17, 16)
#|     }
#|     fused k4(family="contract") -> z {
#|         output z : [4096, 4096] i32 = contract(q, v.packed, reason="B packed once along K: along N 451 us, along K 270") loc(18, 18)
#|     }
#|     fused k5(family="contract") -> t {
#|         output t : [4096, 4096] i32 = contract(q, r.packed, reason="B transposed along K: along N 451 us, along K 270 + 15") loc(19, 18)
#|     }
#|     fused k6(family="contract") -> d {
#|         output d : [512, 4096] f16 = contract(c, u, reason="B as is along K for 2 products: along K 73.7 us, along N 82.3 to along K 130 us, along N 130") loc(20, 16)
#|     }
#|     fused k7(family="contract") -> e {
#|         output e : [S, 4096] f16 = contract(s, u, reason="B as is along K for 2 products: along K 73.7 us, along N 82.3 to along K 130 us, along N 130") loc(21, 16)
#|     }
#| }
