# RUN: compile %s --emit=graph -o -
adept 1

# A repeat keeps one region; what its weights alone decide is prepared for each trip.
model loop {
    dim N in 1..=8
    input x : [N, 16] f32
    h = x * 2.0
    repeat i in 0..4 {
        param w : [16, 16] f32 from "layers.{i}.w"
        param g : [16] f32 from "layers.{i}.g"
        h = h + tanh(linear(h, w)) * exp(g)
    }
    output y = h
}
#| adept 1 ir
#| model loop {
#|     dim N in 1..=8
#|     input x : [N, 16] f32 loc(7, 5)
#|     fused k0(family="map") -> h {
#|         h : [N, 16] f32 = multiply(x, 2.0) loc(8, 11)
#|     }
#|     repeat i in 0..4 {
#|         param w : [16, 16] f32 from "/layers.{i}.w" loc(10, 9)
#|         param g : [16] f32 from "/layers.{i}.g" loc(11, 9)
#|         fused k1(family="map", prepare=true) -> h.exp {
#|             h.exp : [16] f32 = exp(g) loc(12, 38)
#|         }
#|         fused k2(family="contract") -> h {
#|             h.linear : [N, 16] f32 = contract(h, w) loc(12, 22)
#|             h.tanh : [N, 16] f32 = tanh(h.linear) loc(12, 17)
#|             h.multiply : [N, 16] f32 = multiply(h.tanh, h.exp) loc(12, 36)
#|             h : [N, 16] f32 = add(h, h.multiply) loc(12, 15)
#|         }
#|     } loc(9, 5)
#|     fused k3(family="map", reason="memory must hold this value, which is a view of another") -> h.out.3 {
#|         h.out.3 : [N, 16] f32 = reshape(h, shape=[N, 16])
#|     }
#|     output y : [N, 16] f32 = h.out.3 loc(14, 5)
#| }
