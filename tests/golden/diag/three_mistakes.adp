# Three mistakes that have nothing to do with each other.
adept 1

const D = 256
const I = 640

block MLP(x: [1, S, D] f16) -> [1, S, D] f16 {
    param w_gate : [I, D] f16
    g = x @ w_gate
    return g
}

dim S in 1..=512

model mlp {
    input x : [1, S, D] f16
    h = x
    repeat i in 0..4 {
        h = MLP(h) at "model.layers.{i}.mlp"
    }
    y = relu(h
    k = sofmax(h)
    output z : [1, S, D] f16 = h
}
#| three_mistakes.adp:9:11: error: matmul: inner sizes differ: 256 and 640
#|     9 |     g = x @ w_gate
#|       |         ~ ^ ~~~~~~ [640, 256] f16
#|       |         [1, S, 256] f16
#| three_mistakes.adp:19:13: note: in block MLP at "model.layers.{i}.mlp"
#| three_mistakes.adp:18:5: note: in repeat i in 0..4
#| help: w_gate looks like a PyTorch [out, in] weight; write linear(x, w_gate)
#| three_mistakes.adp:22:5: error: unexpected 'k', expected an operator, ')', ',' or '='
#|    22 |     k = sofmax(h)
#|       |     ^
#| three_mistakes.adp:21:13: note: this '(' is not closed
#| three_mistakes.adp:22:9: error: unknown op, fn or block sofmax
#|    22 |     k = sofmax(h)
#|       |         ^~~~~~
#| help: did you mean softmax?
