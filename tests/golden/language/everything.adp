adept 1
const T = f16
const k : [3] f32 = [1, 2.5, -3]
const flags : [2, 2] bool = [[true, false], [false, true]]
const n = 3
dim S in 1..=8
dim P in 0..64
assert P + S <= 64, "too long: {P} + {S} > 64, 100%"
fn half(x: [...] f32) -> [...] f32 { return x * 0.5 }
fn two[A, B](x: [A, B] f32) -> ([A] f32, [B] f32) {
    return sum(x, axis=1), sum(x, axis=0)
}
block Cache(x: [S, 4] f32) -> [S, 4] f32 {
    state c : [64, 4] f32 = 1.5
    c[P:P + S] = x
    y = c[P:P + S, :]
    c[0, 1:3] = k[:2]
    c[:, 0] = 7
    return y + c[P:P+S]
}
model m {
    input x : [S, 4] f32 from "x:0"
    input ids : [S] i32
    a, b = two(x)
    h = half(x) + k[0]
    repeat i in 0..3 {
        t = h * 2
        h = Cache(t) at "layer.{i}"
        t2 = h
    }
    z = where(ids > 2, ids, 0)
    q, r = split(x, [1, 3], axis=1)
    c = concat([q, r, x], axis=1)
    if n == 2 { c = c + 1 } else if n == 3 { c = c * 3 } else { c = c / 2 }
    s = x[:, -1, None]
    u = x[-1:, ..., 1:3:2]
    v = x.T @ x
    w = -x ** 2
    aa = h + aa0(x)
    m = clip(x, 0, 6) // 2 % 3
    e = x * S + P
    output o1 : [S, 4] f32 = h
    output o2 = c + cast(z, f32)[:, None] + s
    output o3 = a
    output o4 = b + k[2] + u
    output o5 = v
    output o6 = w + m + e + r[:, :1] + aa
    output o7 = cast(flags, i32)
}
fn aa0(x: [S, 4] f32) -> [1] f32 { return sum(x, axis=[0], keepdims=true)[0, 1:2] }
#| adept 1 ir
#| model m {
#|     dim S in 1..=8
#|     dim P in 0..=63
#|     assert S + P <= 64, "too long: {P} + {S} > 64, 100%" loc(8, 1)
#|     const k : [3] f32 = [1.0, 2.5, -3.0] loc(3, 7)
#|     const flags : [2, 2] bool = [[true, false], [false, true]] loc(4, 7)
#|     input x : [S, 4] f32 from "x:0" loc(22, 5)
#|     input ids : [S] i32 loc(23, 5)
#|     a : [S] f32 = sum(x, axis=1) loc(11, 12, 24, 12)
#|     b : [4] f32 = sum(x, axis=0) loc(11, 28, 24, 12)
#|     h.multiply : [S, 4] f32 = multiply(x, 0.5) loc(9, 47, 25, 9)
#|     h.slice : [1] f32 = k[0:1] loc(25, 19)
#|     h.squeeze : f32 = squeeze(h.slice, axis=0) loc(25, 19)
#|     h : [S, 4] f32 = add(h.multiply, h.squeeze) loc(25, 17)
#|     repeat i in 0..3 {
#|         t : [S, 4] f32 = multiply(h, 2.0) loc(27, 15)
#|         state layer.i.c : [64, 4] f32 = 1.5 from "/layer.{i}.c" loc(14, 5, 28, 13)
#|         layer.i.c[P:S + P, :] = t loc(15, 5, 28, 13)
#|         layer.i.y : [S, 4] f32 = layer.i.c[P:S + P, :] loc(16, 9, 28, 13)
#|         layer.i.c.slice : [2] f32 = k[0:2] loc(17, 17, 28, 13)
#|         layer.i.c[0:1, 1:3] = layer.i.c.slice loc(17, 5, 28, 13)
#|         layer.i.c[:, 0:1] = 7.0 loc(18, 5, 28, 13)
#|         layer.i.slice : [S, 4] f32 = layer.i.c[P:S + P, :] loc(19, 16, 28, 13)
#|         h : [S, 4] f32 = add(layer.i.y, layer.i.slice) loc(19, 14, 28, 13)
#|     } loc(26, 5)
#|     output o1 : [S, 4] f32 = h loc(42, 5)
#|     z.greater : [S] bool = greater(ids, 2) loc(31, 19)
#|     z : [S] i32 = where(z.greater, ids, 0) loc(31, 9)
#|     q : [S, 1] f32, r : [S, 3] f32 = split(x, sizes=[1, 3], axis=1) loc(32, 12)
#|     c : [S, 8] f32 = concat([q, r, x], axis=1) loc(33, 9)
#|     c.2 : [S, 8] f32 = multiply(c, 3.0) loc(34, 52)
#|     s.slice : [S, 1] f32 = x[:, 3:4] loc(35, 9)
#|     s.squeeze : [S] f32 = squeeze(s.slice, axis=1) loc(35, 9)
#|     s : [S, 1] f32 = s.squeeze[:, None] loc(35, 9)
#|     u : [1, 1] f32 = x[S - 1:S, 1:3:2] loc(36, 9)
#|     v.transpose : [4, S] f32 = transpose(x, a=0, b=1) loc(37, 9)
#|     v : [4, 4] f32 = matmul(v.transpose, x) loc(37, 13)
#|     w.pow : [S, 4] f32 = pow(x, 2.0) loc(38, 12)
#|     w : [S, 4] f32 = negative(w.pow) loc(38, 9)
#|     aa.sum : [1, 4] f32 = sum(x, axis=0, keepdims=true) loc(50, 43, 39, 14)
#|     aa.slice : [1, 1] f32 = aa.sum[:, 1:2] loc(50, 43, 39, 14)
#|     aa.squeeze : [1] f32 = squeeze(aa.slice, axis=0) loc(50, 43, 39, 14)
#|     aa : [S, 4] f32 = add(h, aa.squeeze) loc(39, 12)
#|     m.clip : [S, 4] f32 = clip(x, 0.0, 6.0) loc(40, 9)
#|     m.floor_divide : [S, 4] f32 = floor_divide(m.clip, 2.0) loc(40, 23)
#|     m : [S, 4] f32 = remainder(m.floor_divide, 3.0) loc(40, 28)
#|     e.multiply : [S, 4] f32 = multiply(x, S) loc(41, 11)
#|     e : [S, 4] f32 = add(e.multiply, P) loc(41, 15)
#|     o2.cast : [S] f32 = cast(z, dtype=f32) loc(43, 21)
#|     o2.expand_dims : [S, 1] f32 = o2.cast[:, None] loc(43, 21)
#|     o2.add : [S, 8] f32 = add(c.2, o2.expand_dims) loc(43, 19)
#|     output o2 : [S, 8] f32 = add(o2.add, s) loc(43, 43)
#|     output o3 : [S] f32 = a loc(44, 5)
#|     o4.slice : [1] f32 = k[2:3] loc(45, 21)
#|     o4.squeeze : f32 = squeeze(o4.slice, axis=0) loc(45, 21)
#|     o4.add : [4] f32 = add(b, o4.squeeze) loc(45, 19)
#|     output o4 : [1, 4] f32 = add(o4.add, u) loc(45, 26)
#|     output o5 : [4, 4] f32 = v loc(46, 5)
#|     o6.add : [S, 4] f32 = add(w, m) loc(47, 19)
#|     o6.add.2 : [S, 4] f32 = add(o6.add, e) loc(47, 23)
#|     o6.slice : [S, 1] f32 = r[:, 0:1] loc(47, 29)
#|     o6.add.3 : [S, 4] f32 = add(o6.add.2, o6.slice) loc(47, 27)
#|     output o6 : [S, 4] f32 = add(o6.add.3, aa) loc(47, 38)
#|     output o7 : [2, 2] i32 = cast(flags, dtype=i32) loc(48, 17)
#| }
#| everything.adp:2:7: warning: const T is never used
#|     2 | const T = f16
#|       |       ^
#| everything.adp:29:9: warning: value t2 is never used
#|    29 |         t2 = h
#|       |         ^~
