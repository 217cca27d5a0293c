# Byte-level decoder of the Qwen2 form, 4 layers; all weights are f16.
adept 1

const T       = f16            # activations and KV cache; -D T=f32 for the reference figures
const F       = f16            # float dtype of the weight file
const W       = F              # storage of the projection matrices; q8_0, q4_0 and others come later
const B       = 1              # batch
const vocab   = 128
const D       = 256            # hidden size
const I       = 640            # feed-forward size
const layers  = 4
const Hq      = 8              # query heads
const Hkv     = 2              # key/value heads
const Dh      = D // Hq        # head size, 32
const max_len = 512            # KV-cache capacity
const theta   = 10000.0        # rotary base
const eps     = 1e-6

dim S in 1..=256               # tokens in this run: the prompt, or 1 when decoding
dim P in 0..max_len            # tokens already in the cache; in no input shape, so the host sets it

assert P + S <= max_len, "KV cache is full: {P} cached + {S} new > {max_len}"

block Linear[In](x: [..., In] T, out: int, has_bias: bool = false) -> [..., out] T {
    param weight : [out, In] T as W
    if has_bias {
        param bias : [out] T as F
        return linear(x, weight, bias)
    }
    return linear(x, weight)
}

block RMSNorm(x: [..., D] T) -> [..., D] T {
    param weight : [D] T as F
    return rms_norm(x, weight, eps=eps)
}

# cos and sin for positions P .. P+S-1, shared by all layers. The inverse frequencies are rounded
# to f16 because the stored reference logits were computed that way; the casts are never removed.
fn rope_tables() -> ([S, Dh // 2] f32, [S, Dh // 2] f32) {
    inv = theta ** (-2.0 * cast(arange(0, Dh // 2), f32) / Dh)
    inv = cast(cast(inv, f16), f32)
    ang = cast(arange(P, P + S), f32)[:, None] * inv
    return cos(ang), sin(ang)
}

block Attention(x: [B, S, D] T, cos_tab: [S, Dh // 2] f32, sin_tab: [S, Dh // 2] f32)
        -> [B, S, D] T {
    state k_cache : [B, Hkv, max_len, Dh] T     # one per layer; zero at load, kept between runs
    state v_cache : [B, Hkv, max_len, Dh] T

    q = Linear(x, out=Hq  * Dh, has_bias=true) at "q_proj"
    k = Linear(x, out=Hkv * Dh, has_bias=true) at "k_proj"
    v = Linear(x, out=Hkv * Dh, has_bias=true) at "v_proj"

    q = transpose(reshape(q, [B, S, Hq,  Dh]), 1, 2)        # [B, Hq,  S, Dh]
    k = transpose(reshape(k, [B, S, Hkv, Dh]), 1, 2)        # [B, Hkv, S, Dh]
    v = transpose(reshape(v, [B, S, Hkv, Dh]), 1, 2)

    q = rotary_embedding(q, cos_tab, sin_tab)               # half-split pairs
    k = rotary_embedding(k, cos_tab, sin_tab)

    k_cache[:, :, P:P + S, :] = k                           # in-place update of a state
    v_cache[:, :, P:P + S, :] = v

    o = scaled_dot_product_attention(q, k_cache[:, :, :P + S, :], v_cache[:, :, :P + S, :],
                                     is_causal=true, enable_gqa=true)
    o = reshape(transpose(o, 1, 2), [B, S, Hq * Dh])
    return Linear(o, out=D) at "o_proj"
}

block MLP(x: [B, S, D] T) -> [B, S, D] T {
    gate = Linear(x, out=I) at "gate_proj"
    up   = Linear(x, out=I) at "up_proj"
    return Linear(silu(gate) * up, out=D) at "down_proj"
}

block DecoderLayer(x: [B, S, D] T, cos_tab: [S, Dh // 2] f32, sin_tab: [S, Dh // 2] f32)
        -> [B, S, D] T {
    h = x + Attention(RMSNorm(x) at "input_layernorm", cos_tab, sin_tab) at "self_attn"
    return h + MLP(RMSNorm(h) at "post_attention_layernorm") at "mlp"
}

model kjv_decoder {
    input tokens : [B, S] i32                               # bytes 0..127
    param embed  : [vocab, D] T as F from "model.embed_tokens.weight"

    cos_tab, sin_tab = rope_tables()
    h = embedding(tokens, embed)

    repeat i in 0..layers {
        h = DecoderLayer(h, cos_tab, sin_tab) at "model.layers.{i}"
    }

    h = RMSNorm(h) at "model.norm"
    output logits : [B, S, vocab] f32 = linear(h, embed, dtype=f32)     # tied output matrix
    output next   : [B] i32 = argmax(logits[:, -1, :], axis=-1)
}
