adept 1
block Inner(x: [2] f32) -> [2] f32 {
    param w : [2] f32
    state s : [2] f32
    s[:] = x * w
    return x + s
}
model m {
    input x : [2] f32
    h = x
    g = x
    state total : [2] f32
    repeat i in 0..2 {
        a = h * 2
        repeat j in 1..=3 {
            h = Inner(h) at "blocks.{i}.{j}"
            total[0:1] = h[0:1]
        }
        h, g = g, h + a
    }
    output y : [2] f32 = h + total
    output z : [2] f32 = g
}
#| adept 1 ir
#| model m {
#|     input x : [2] f32 loc(9, 5)
#|     state total : [2] f32 from "/total" loc(12, 5)
#|     h : [2] f32 = x
#|     g : [2] f32 = x
#|     repeat i in 0..2 {
#|         a : [2] f32 = multiply(h, 2.0) loc(14, 15)
#|         repeat j in 1..4 {
#|             param blocks.i.j.w : [2] f32 from "/blocks.{i}.{j}.w" loc(3, 5, 16, 17)
#|             state blocks.i.j.s : [2] f32 from "/blocks.{i}.{j}.s" loc(4, 5, 16, 17)
#|             blocks.i.j.s.multiply : [2] f32 = multiply(h, blocks.i.j.w) loc(5, 14, 16, 17)
#|             blocks.i.j.s[0:2] = blocks.i.j.s.multiply loc(5, 5, 16, 17)
#|             h : [2] f32 = add(h, blocks.i.j.s) loc(6, 14, 16, 17)
#|             total.slice : [1] f32 = h[0:1] loc(17, 26)
#|             total[0:1] = total.slice loc(17, 13)
#|         } loc(15, 9)
#|         g.next : [2] f32 = add(h, a) loc(19, 21)
#|         h : [2] f32, g : [2] f32 = g, g.next
#|     } loc(13, 5)
#|     output y : [2] f32 = add(h, total) loc(21, 28)
#|     output z : [2] f32 = g loc(22, 5)
#| }
