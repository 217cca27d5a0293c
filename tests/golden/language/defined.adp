# DEFINE: T=bf16
# DEFINE: width=8
# DEFINE: name=head
# DEFINE: flag=true
# DEFINE: shift=-2.5
adept 1
const T = f32
const width = 4
const half = width // 2
const name = "body"
const flag = false
const shift = 0
model m {
    input x : [width, half] T
    param w : [half] T from "{name}.weight"
    y = x * w + shift
    if flag { y = relu(y) }
    output z : [width, half] T = y
}
#| adept 1 ir
#| model m {
#|     input x : [8, 4] bf16 loc(14, 5)
#|     param w : [4] bf16 from "/head.weight" loc(15, 5)
#|     y.multiply : [8, 4] bf16 = multiply(x, w) loc(16, 11)
#|     y : [8, 4] bf16 = add(y.multiply, -2.5) loc(16, 15)
#|     y.2 : [8, 4] bf16 = relu(y) loc(17, 19)
#|     output z : [8, 4] bf16 = y.2 loc(18, 5)
#| }
