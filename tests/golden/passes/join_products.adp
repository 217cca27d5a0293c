# RUN: compile %s --target h200 --passes=decompose,join-products,fold-views,fuse,move-to-prepare --emit=graph -o -
adept 1

# q, k and v lie side by side in one product, biases and all; gate and up alternate in one, and the
# gate itself is what that one stores. Slices and parts are views.
model joined {
    dim S in 1..=64
    input x : [S, 256] f16
    param wq : [256, 256] f16
    param wk : [64, 256] f16 as bf16
    param wv : [64, 256] f16
    param bq : [256] f16
    param bk : [64] f16
    param bv : [64] f16
    param gate : [512, 256] f16
    param up : [512, 256] f16 as bf16

    q = linear(x, wq, bq)
    k = linear(x, wk, bk)
    v = linear(x, wv, bv)
    output a = k @ v.mT
    output b = q @ reshape(x, [256, S])
    output y = silu(linear(x, gate)) * linear(x, up)
}
#| adept 1 ir
#| model joined {
#|     dim S in 1..=64
#|     input x : [S, 256] f16 loc(8, 5)
#|     param wq : [256, 256] f16 from "/wq" loc(9, 5)
#|     param wk.stored : [64, 256] bf16 from "/wk" loc(10, 5)
#|     param wv : [64, 256] f16 from "/wv" loc(11, 5)
#|     param bq : [256] f16 from "/bq" loc(12, 5)
#|     param bk : [64] f16 from "/bk" loc(13, 5)
#|     param bv : [64] f16 from "/bv" loc(14, 5)
#|     param gate : [512, 256] f16 from "/gate" loc(15, 5)
#|     param up.stored : [512, 256] bf16 from "/up" loc(16, 5)
#|     fused k0(family="map", prepare=true) -> q.linear.contract.weights {
#|         q.linear.contract.packed : [384, 256] f16 = cast(pad(wk.stored, widths=[[256, 64], [0, 0]], value=0.0), dtype=f16) loc(18, 9)
#|         q.linear.contract.index : [384] i32 = arange(start=0, stop=384) loc(18, 9)
#|         q.linear.contract.here : [384, 256] bool = less(broadcast_to(q.linear.contract.index[:, None], shape=[384, 256]), 320) loc(18, 9)
#|         q.linear.contract.part : [384, 256] f16 = where(q.linear.contract.here, q.linear.contract.packed, pad(wv, widths=[[320, 0], [0, 0]], value=0.0)) loc(18, 9)
#|         q.linear.contract.here.2 : [384, 256] bool = less(broadcast_to(q.linear.contract.index[:, None], shape=[384, 256]), 256) loc(18, 9)
#|         q.linear.contract.weights : [384, 256] f16 = where(q.linear.contract.here.2, pad(wq, widths=[[0, 128], [0, 0]], value=0.0), q.linear.contract.part) loc(18, 9)
#|     }
#|     fused k1(family="map", prepare=true) -> q.linear.contract.joined.2 {
#|         q.linear.contract.index.2 : [384] i32 = arange(start=0, stop=384) loc(18, 9)
#|         q.linear.contract.here.3 : [384] bool = less(q.linear.contract.index.2, 320) loc(18, 9)
#|         q.linear.contract.part.2 : [384] f16 = where(q.linear.contract.here.3, pad(bk, widths=[[256, 64]], value=0.0), pad(bv, widths=[[320, 0]], value=0.0)) loc(18, 9)
#|         q.linear.contract.here.4 : [384] bool = less(q.linear.contract.index.2, 256) loc(18, 9)
#|         q.linear.contract.joined.2 : [384] f16 = where(q.linear.contract.here.4, pad(bq, widths=[[0, 128]], value=0.0), q.linear.contract.part.2) loc(18, 9)
#|     }
#|     fused k2(family="contract") -> q.linear.contract.joined.5 {
#|         q.linear.contract.joined : [S, 384] f32 = contract(x, q.linear.contract.weights, dtype=f32, reason="3 products of one tensor as one: apart 1.25 us, as one 0.451 to 4.35 us, as one 1.45") loc(18, 9)
#|         q.linear.contract.joined.3 : [S, 384] f32 = cast(broadcast_to(q.linear.contract.joined.2, shape=[S, 384]), dtype=f32) loc(18, 9)
#|         q.linear.contract.joined.4 : [S, 384] f32 = add(q.linear.contract.joined, q.linear.contract.joined.3) loc(18, 9)
#|         q.linear.contract.joined.5 : [S, 384] f16 = narrow(q.linear.contract.joined.4, dtype=f16) loc(18, 9)
#|     }
#|     fused k3(family="contract") -> a {
#|         output a : [S, S] f16 = contract(q.linear.contract.joined.5[:, 256:320], permute_dims(transpose(q.linear.contract.joined.5[:, 320:384], a=0, b=1), axes=[1, 0])) loc(21, 18)
#|     }
#|     fused k4(family="contract") -> b {
#|         output b : [S, S] f16 = contract(q.linear.contract.joined.5[:, 0:256], permute_dims(reshape(x, shape=[256, S]), axes=[1, 0])) loc(22, 18)
#|     }
#|     fused k5(family="map", prepare=true) -> y.linear.contract.weights {
#|         y.linear.contract.packed : [512, 2, 256] f16 = cast(broadcast_to(up.stored[:, None, :], shape=[512, 2, 256]), dtype=f16) loc(23, 21)
#|         y.linear.contract.index : [2] i32 = arange(start=0, stop=2) loc(23, 21)
#|         y.linear.contract.here : [512, 2, 256] bool = less(broadcast_to(y.linear.contract.index[:, None], shape=[512, 2, 256]), 1) loc(23, 21)
#|         y.linear.contract.weights : [512, 2, 256] f16 = where(y.linear.contract.here, broadcast_to(gate[:, None, :], shape=[512, 2, 256]), y.linear.contract.packed) loc(23, 21)
#|     }
#|     fused k6(family="contract") -> y {
#|         y.linear.contract.joined : [S, 512, 2] f16 = contract(x, y.linear.contract.weights, reason="2 products of one tensor in turn as one: apart 2.54 us, as one 0.535 to 4.53 us, as one 1.45") loc(23, 21)
#|         y.silu : [S, 512] f16 = silu(reshape(y.linear.contract.joined[:, :, 0:1], shape=[S, 512])) loc(23, 16)
#|         output y : [S, 512] f16 = multiply(y.silu, reshape(y.linear.contract.joined[:, :, 1:2], shape=[S, 512])) loc(23, 38)
#|     }
#| }
