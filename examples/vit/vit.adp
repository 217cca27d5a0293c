# Vision Transformer (Dosovitskiy et al., 2020) for images [N, 3, image, image]; ViT-B/16 unless -D says otherwise.
# Weight names are those of torchvision's state_dict, so its checkpoints load once saved as safetensors.
adept 1

const T       = f32            # activations; -D T=f16
const F       = f32            # dtype of the weight file
const image   = 224
const patch   = 16
const layers  = 12
const heads   = 12
const D       = 768            # size of a token
const mlp     = 3072
const classes = 1000
const side    = image // patch
const L       = side * side + 1            # patches and the class token

dim N in 1..=64

assert image % patch == 0, "an image of {image} is not made of patches of {patch}"
assert D % heads == 0, "{heads} heads do not divide {D}"

block LayerNorm(x: [N, L, D] T) -> [N, L, D] T {
    param weight : [D] T as F
    param bias   : [D] T as F
    return layer_norm(x, weight, bias, eps=1e-6)
}

block Linear[B, S, C](x: [B, S, C] T, out: int) -> [B, S, out] T {
    param weight : [out, C] T as F
    param bias   : [out] T as F
    return linear(x, weight, bias)
}

fn split_heads(x: [N, L, D] T) -> [N, heads, L, D // heads] T {
    return transpose(reshape(x, [N, L, heads, D // heads]), 1, 2)
}

block SelfAttention(x: [N, L, D] T) -> [N, L, D] T {
    param in_proj_weight : [3 * D, D] T as F
    param in_proj_bias   : [3 * D] T as F
    q, k, v = split(linear(x, in_proj_weight, in_proj_bias), [D, D, D], axis=2)
    y = scaled_dot_product_attention(split_heads(q), split_heads(k), split_heads(v))
    return Linear(reshape(transpose(y, 1, 2), [N, L, D]), out=D) at "out_proj"
}

block EncoderLayer(x: [N, L, D] T) -> [N, L, D] T {
    x = x + SelfAttention(LayerNorm(x) at "ln_1") at "self_attention"
    y = gelu(Linear(LayerNorm(x) at "ln_2", out=mlp) at "mlp.0")
    return x + Linear(y, out=D) at "mlp.3"
}

block Patches(x: [N, 3, image, image] T) -> [N, L - 1, D] T {
    param weight : [D, 3, patch, patch] T as F
    param bias   : [D] T as F
    return transpose(flatten(conv2d(x, weight, bias, stride=patch), 2), 1, 2)
}

block Head(x: [N, D] T) -> [N, classes] T {
    param weight : [classes, D] T as F
    param bias   : [classes] T as F
    return linear(x, weight, bias)
}

model vit {
    input x : [N, 3, image, image] T from "image"      # normalised as the checkpoint expects
    param class_token : [1, 1, D] T as F
    param positions   : [1, L, D] T as F from "encoder.pos_embedding"

    y = Patches(x) at "conv_proj"
    y = concat([broadcast_to(class_token, [N, 1, D]), y], axis=1) + positions
    repeat i in 0..layers {
        y = EncoderLayer(y) at "encoder.layers.encoder_layer_{i}"
    }
    y = LayerNorm(y) at "encoder.ln"
    output logits : [N, classes] T = Head(y[:, 0]) at "heads.head"
}
