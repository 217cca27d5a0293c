adept 1
block Leaf(x: [4] f32) -> [4] f32 {
    param plain : [4] f32
    param named : [4] f32 from "other.name"
    param rooted : [4] f32 from "/top.{1 + 1}"
    param stacked : [3, 4] f32 from "experts.{*}.w"
    param small : [4] f32 as bf16
    return x * plain + named - rooted + sum(stacked, axis=0) / small
}
block Outer(x: [4] f32) -> [4] f32 {
    a = Leaf(x) at "inner"
    return Leaf(a)
}
model m {
    input x : [4] f32 from "images:0"
    output y : [4] f32 = Outer(x) at "0.enc-oder" from "result:0"
}
#| adept 1 ir
#| model m {
#|     input x : [4] f32 from "images:0" loc(15, 5)
#|     param _0.enc_oder.inner.plain : [4] f32 from "/0.enc-oder.inner.plain" loc(3, 5, 11, 9, 16, 26)
#|     param _0.enc_oder.inner.named : [4] f32 from "/0.enc-oder.inner.other.name" loc(4, 5, 11, 9, 16, 26)
#|     param _0.enc_oder.inner.rooted : [4] f32 from "/top.2" loc(5, 5, 11, 9, 16, 26)
#|     param _0.enc_oder.inner.stacked : [3, 4] f32 from "/0.enc-oder.inner.experts.{*}.w" loc(6, 5, 11, 9, 16, 26)
#|     param _0.enc_oder.inner.small : [4] f32 as bf16 from "/0.enc-oder.inner.small" loc(7, 5, 11, 9, 16, 26)
#|     _0.enc_oder.inner.multiply : [4] f32 = multiply(x, _0.enc_oder.inner.plain) loc(8, 14, 11, 9, 16, 26)
#|     _0.enc_oder.inner.add : [4] f32 = add(_0.enc_oder.inner.multiply, _0.enc_oder.inner.named) loc(8, 22, 11, 9, 16, 26)
#|     _0.enc_oder.inner.subtract : [4] f32 = subtract(_0.enc_oder.inner.add, _0.enc_oder.inner.rooted) loc(8, 30, 11, 9, 16, 26)
#|     _0.enc_oder.inner.sum : [4] f32 = sum(_0.enc_oder.inner.stacked, axis=0) loc(8, 41, 11, 9, 16, 26)
#|     _0.enc_oder.inner.divide : [4] f32 = divide(_0.enc_oder.inner.sum, _0.enc_oder.inner.small) loc(8, 62, 11, 9, 16, 26)
#|     _0.enc_oder.a : [4] f32 = add(_0.enc_oder.inner.subtract, _0.enc_oder.inner.divide) loc(8, 39, 11, 9, 16, 26)
#|     param _0.enc_oder.plain : [4] f32 from "/0.enc-oder.plain" loc(3, 5, 12, 12, 16, 26)
#|     param _0.enc_oder.named : [4] f32 from "/0.enc-oder.other.name" loc(4, 5, 12, 12, 16, 26)
#|     param _0.enc_oder.rooted : [4] f32 from "/top.2" loc(5, 5, 12, 12, 16, 26)
#|     param _0.enc_oder.stacked : [3, 4] f32 from "/0.enc-oder.experts.{*}.w" loc(6, 5, 12, 12, 16, 26)
#|     param _0.enc_oder.small : [4] f32 as bf16 from "/0.enc-oder.small" loc(7, 5, 12, 12, 16, 26)
#|     _0.enc_oder.multiply : [4] f32 = multiply(_0.enc_oder.a, _0.enc_oder.plain) loc(8, 14, 12, 12, 16, 26)
#|     _0.enc_oder.add : [4] f32 = add(_0.enc_oder.multiply, _0.enc_oder.named) loc(8, 22, 12, 12, 16, 26)
#|     _0.enc_oder.subtract : [4] f32 = subtract(_0.enc_oder.add, _0.enc_oder.rooted) loc(8, 30, 12, 12, 16, 26)
#|     _0.enc_oder.sum : [4] f32 = sum(_0.enc_oder.stacked, axis=0) loc(8, 41, 12, 12, 16, 26)
#|     _0.enc_oder.divide : [4] f32 = divide(_0.enc_oder.sum, _0.enc_oder.small) loc(8, 62, 12, 12, 16, 26)
#|     output y : [4] f32 = add(_0.enc_oder.subtract, _0.enc_oder.divide) from "result:0" loc(8, 39, 12, 12, 16, 26)
#| }
