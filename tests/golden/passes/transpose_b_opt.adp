# RUN: compile %s --target h200 --stop-after=fold-views --emit=graph -o %t/folded.ir
# RUN: opt %t/folded.ir --target h200 --passes=transpose-b --emit=graph -o -
# RUN: opt %t/folded.ir --target h200 --disable-pass=transpose-b --emit=graph -o -
adept 1

# transpose-b on a dump, alone and left out.
model dump {
    input x : [4096, 4096] f16
    param w : [4096, 4096] f16
    output y = linear(x, w)
}
#| adept 1 ir
#| model dump {
#|     input x : [4096, 4096] f16 loc(8, 5)
#|     param w : [4096, 4096] f16 from "/w" loc(9, 5)
#|     w.packed : [4096, 4096] f16 = permute_dims(w, axes=[1, 0]) loc(9, 5)
#|     output y : [4096, 4096] f16 = contract(x, permute_dims(w.packed, axes=[1, 0]), reason="B packed once along N: along K 521 us, along N 448") loc(10, 16)
#| }
#| adept 1 ir
#| model dump {
#|     input x : [4096, 4096] f16 loc(8, 5)
#|     param w : [4096, 4096] f16 from "/w" loc(9, 5)
#|     fused k0(family="contract") -> y {
#|         output y : [4096, 4096] f16 = contract(x, w) loc(10, 16)
#|     }
#| }
