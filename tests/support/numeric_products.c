// Products with what passes do around them, at rates under which they do it wherever they may:
// operands packed or transposed, products joined side by side or in turn, maps in front of them.
#include "tests/support/numeric.h"

static const NumericCase cases[] = {
    {"packed along N",
     "f32 f16 bf16",
     "17; 33",
     "dim N in 17..=64\ninput x : [N, 40] $T\nparam w : [24, 40] $T\noutput y = linear(x, w)",
     {.sums = 4, .rounds = 2}},
    {"packed with its cast",
     "f16",
     "17; 40",
     "dim N in 17..=64\ninput x : [N, 24] $T\nparam w : [2, 24, 12] bf16\n"
     "output y = linear(x, reshape(cast(w, $T).mT, [24, 24]))",
     {.sums = 4, .rounds = 2}},
    {"transposed on the fly",
     "f32 f16",
     "17; 33",
     "dim N in 17..=64\ninput x : [2, N, 40] $T\ninput b : [2, N, 40] $T\noutput y = x @ b.mT",
     {.sums = 4, .rounds = 2}},
    {"i8 along N",
     "i8",
     "17; 33",
     "dim N in 17..=64\ninput x : [N, 40] $T\nparam w : [24, 40] $T\noutput y = x @ w.mT",
     {.ulps = 0}},
    {"side by side",
     "f32 f16",
     "1; 2; 33",
     "dim N in 1..=64\ninput x : [N, 40] $T\n"
     "param wq : [24, 40] $T; param wk : [8, 40] $T; param wv : [9, 40] $T\n"
     "param bq : [24] $T; param bk : [8] $T; param bv : [9] $T\n"
     "q = linear(x, wq, bq)\nk = linear(x, wk, bk)\nv = linear(x, wv, bv)\n"
     "output a = transpose(q, 0, 1)\noutput b = reshape(k, [N, 2, 4])[:, 1, :]\n"
     "output c = transpose(v, 0, 1)",
     {.sums = 4, .rounds = 4}},
    {"a gate",
     "f32 f16",
     "1; 2; 17; 33",
     "dim N in 1..=64\ninput x : [N, 40] $T\nparam wg : [13, 40] $T; param wu : [13, 40] $T\n"
     "param b : [13] $T\noutput y = silu(linear(x, wg, b) * 0.1) * linear(x, wu)",
     {.sums = 16, .rounds = 16}},
    {"gates of a repeat",
     "f32",
     "1; 17",
     "dim N in 1..=64\ninput x : [2, N, 8] $T\nh = x\nrepeat i in 0..3 {\n"
     "param wg : [8, 8] $T from \"g.{i}\"; param wu : [8, 8] $T from \"u.{i}\"\n"
     "h = h + tanh(linear(h, wg)) * tanh(linear(h, wu))\n}\noutput y = h",
     {.sums = 400, .absolute = 1e-3}},
    {"maps in front",
     "f32",
     "1; 17; 33",
     "dim N in 1..=64\ninput x : [N, 40] $T\ninput s : [N] $T\nparam w : [24, 40] $T\n"
     "input b : [40, N] $T\noutput y = linear(relu(x * s[:, None] + 1), w)\n"
     "output z = abs(x) @ (b + 0.5)",
     {.sums = 8, .rounds = 4}},
};

void numeric_products(Arena *arena, NumericList *out) {
    uint32_t first = out->len;
    numeric_from_cases(arena, cases, sizeof cases / sizeof *cases, out);
    for (uint32_t i = first; i < out->len; i++) out->at[i].eager = true;
}
