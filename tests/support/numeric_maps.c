// Element-wise ops: rows of one call each, gathered to models of one dtype with many outputs, which
// become one kernel.
//
// Bounds are those of the language's section on accuracy. For ops made of several steps they are
// what these add up to: exp is within 3 + 2 |x| ulp, so 24 for |x| < 10 and 200 up to overflow.
#include <stdio.h>
#include <string.h>

#include "tests/support/numeric.h"

// Only what is equal.
#define EXACT  .ulps = 0
#define FLOATS "f32 f16 bf16"
#define ARITH  "f32 f16 bf16 i32 u32"
#define ALL    "f32 f16 bf16 i32 u32 i8 u8 bool"

typedef struct MapRow {
    const char *dtypes, *call;
    Bound bound;
} MapRow;

static const MapRow rows[] = {
    {ARITH, "relu(any_x)", {EXACT}},
    {FLOATS, "sigmoid(near_x)", {.ulps = 30}},
    {FLOATS, "sigmoid(any_x)", {.ulps = 200}},
    {FLOATS, "tanh(any_x)", {.absolute = 0x1p-20}},
    {FLOATS, "silu(near_x)", {.ulps = 34}},
    {FLOATS, "hardsigmoid(any_x)", {.absolute = 0x1p-21}},
    {FLOATS, "hardswish(near_x)", {.absolute = 0x1p-19}},
    {FLOATS, "gelu(near_x)", {.absolute = 0x1p-17}},
    {FLOATS, "gelu(near_x, approximate=\"tanh\")", {.absolute = 0x1p-17}},
    {FLOATS, "softplus(near_x)", {.ulps = 4, .absolute = 0x1p-21}},
    {FLOATS, "softplus(near_x, beta=2.5)", {.ulps = 8, .absolute = 0x1p-21}},
    {FLOATS, "elu(near_x)", {.absolute = 0x1p-21}},
    {FLOATS, "elu(near_x, alpha=0.25)", {.absolute = 0x1p-21}},
    {FLOATS, "leaky_relu(any_x)", {.ulps = 1}},
    {FLOATS, "leaky_relu(any_x, negative_slope=0.3)", {.ulps = 1}},
    {FLOATS, "negative(any_x)", {.bits = true}},
    {"i32 u32", "negative(any_x)", {EXACT}},
    {ARITH, "abs(any_x)", {EXACT}},
    {ARITH, "sign(any_x)", {EXACT}},
    {FLOATS, "exp(near_x)", {.ulps = 23}},
    {FLOATS, "exp(any_x)", {.ulps = 200}},
    {FLOATS, "log(pos_x)", {.ulps = 3, .absolute = 0x1p-21}},
    {FLOATS, "log(any_x)", {.ulps = 3, .absolute = 0x1p-21}},
    {FLOATS, "sqrt(any_x)", {.ulps = 5}},
    {FLOATS, "rsqrt(any_x)", {.ulps = 3}},
    {FLOATS, "reciprocal(any_x)", {.ulps = 3}},
    {FLOATS, "erf(any_x)", {.absolute = 0x1p-20}},
    {FLOATS, "sin(near_x)", {.absolute = 0x1p-20}},
    {FLOATS, "cos(near_x)", {.absolute = 0x1p-20}},
    {FLOATS, "floor(any_x)", {EXACT}},
    {FLOATS, "ceil(any_x)", {EXACT}},
    {FLOATS, "round(any_x)", {EXACT}},
    {"bool", "logical_not(any_x)", {EXACT}},
    {ARITH, "add(any_x, any_y)", {EXACT}},
    {ARITH, "subtract(any_x, any_y)", {EXACT}},
    {ARITH, "multiply(any_x, any_y)", {EXACT}},
    {FLOATS, "divide(any_x, any_y)", {.ulps = 3}},
    {FLOATS, "floor_divide(near_x, near_y)", {.ulps = 3}},
    {"i32 u32", "floor_divide(any_x, any_y)", {EXACT}},
    {FLOATS, "remainder(near_x, near_y)", {.ulps = 1}},
    {FLOATS, "floor_divide(tenth_x, tenth_y)", {EXACT}},
    {FLOATS, "remainder(tenth_x, tenth_y)", {EXACT}},
    {"i32 u32", "remainder(any_x, any_y)", {EXACT}},
    {"i32 u32", "remainder(any_x, tiny_y)", {EXACT}},
    {FLOATS, "pow(pos_x, unit_y)", {.ulps = 500}},
    {FLOATS, "pow(any_x, 2.0)", {.ulps = 1}},
    {FLOATS, "pow(near_x, -3.0)", {.ulps = 8}},
    {FLOATS, "pow(pos_x, 0.5)", {.ulps = 500}},
    {"i32 u32", "pow(any_x, tiny_y)", {EXACT}},
    {"i32 u32", "pow(any_x, any_y)", {EXACT}},
    {ARITH, "maximum(any_x, any_y)", {EXACT}},
    {ARITH, "minimum(any_x, any_y)", {EXACT}},
    {ALL, "equal(any_x, any_y)", {EXACT}},
    {ALL, "not_equal(any_x, any_y)", {EXACT}},
    {ALL, "less(any_x, any_y)", {EXACT}},
    {ALL, "less_equal(any_x, any_y)", {EXACT}},
    {ALL, "greater(any_x, any_y)", {EXACT}},
    {ALL, "greater_equal(any_x, any_y)", {EXACT}},
    {"bool", "logical_and(any_x, any_y)", {EXACT}},
    {"bool", "logical_or(any_x, any_y)", {EXACT}},
    {ALL, "where(mask, any_x, any_y)", {.bits = true}},
    {FLOATS, "clip(any_x, min=-1.5, max=2.5)", {EXACT}},
    {FLOATS, "clip(any_x, max=2.5)", {EXACT}},
    {ARITH, "clip(any_x, min=any_y)", {EXACT}},
    {"i32 u32", "clip(any_x, min=3, max=500)", {EXACT}},
    {"f32", "cast(any_x, f16)", {EXACT}},
    {"f32", "cast(any_x, bf16)", {EXACT}},
    {"f16 bf16 i32 u32 i8 u8 bool", "cast(any_x, f32)", {EXACT}},
    {"i32 u32", "cast(any_x, f16)", {.ulps = 1}},
    {"i32 u32", "cast(any_x, bf16)", {.ulps = 1}},
    {FLOATS " u32 i8 u8 bool", "cast(any_x, i32)", {EXACT}},
    {FLOATS " i32 i8 u8 bool", "cast(any_x, u32)", {EXACT}},
    {FLOATS " i32 u32 u8 bool", "cast(any_x, i8)", {EXACT}},
    {FLOATS " i32 u32 i8 bool", "cast(any_x, u8)", {EXACT}},
    {ARITH " i8 u8", "cast(any_x, bool)", {EXACT}},
};

static const char *const inputs[] = {"any_x",  "any_y",  "near_x",  "near_y",  "pos_x",
                                     "unit_y", "tiny_y", "tenth_x", "tenth_y", "mask"};

static bool has_word(const char *list, const char *word) {
    size_t length = strlen(word);
    for (const char *at = list; (at = strstr(at, word)) != NULL; at += length)
        if ((at == list || at[-1] == ' ') && (at[length] == ' ' || !at[length])) return true;
    return false;
}

// Models of at most `most` outputs, with the inputs that their calls name.
static void gather(Arena *arena, const char *dtype, unsigned most, NumericList *out) {
    const size_t count = sizeof rows / sizeof *rows;
    unsigned part = 0;
    for (size_t next = 0; next < count;) {
        NumericModel model = {.sizes = "1; 2; 7; 64; 257"};
        Text calls = {0}, text = {0};
        unsigned outputs = 0;
        for (; next < count && outputs < most; next++) {
            if (!has_word(rows[next].dtypes, dtype)) continue;
            text_printf(&calls, "output y%u = %s\n", outputs, rows[next].call);
            model.bound[outputs++] = rows[next].bound;
        }
        if (outputs) {
            text_put(&text, "adept 1\nmodel m {\ndim N in 1..=300\n");
            for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
                if (strstr(calls.data, inputs[i]))
                    text_printf(&text, "input %s : [N, 12] %s\n", inputs[i],
                                strcmp(inputs[i], "mask") ? dtype : "bool");
            text_printf(&text, "%s}\n", calls.data);
            model.text = arena_strdup(arena, text.data);
            model.name = arena_printf(arena, "map %s %u", dtype, part++);
            vec_push(arena, out, model);
        }
        text_free(&calls);
        text_free(&text);
    }
}

// Operands that broadcast, or are read through views.
static const NumericCase cases[] = {
    {"broadcast",
     "f32 f16 i32",
     "1 1; 3 5; 7 64; 65 3; 2 257",
     "dim N in 1..=100; dim M in 1..=300\n"
     "input x : [N, 1, M] $T; input y : [4, M] $T; input z : [N, 4, 1] $T; input s : $T\n"
     "output a = (x + y) * z; output b = maximum(y, x) - s\n",
     {.ulps = 2, .absolute = 0x1p-20}},
    {"views",
     "f32 bf16 u32 u8",
     "1; 2; 5; 33; 64",
     "dim N in 1..=70\n"
     "input any_x : [N, 6] $T; input any_y : [6, N] $T; input any_z : [N, 13] $T\n"
     "input any_w : [6] $T; input any_v : [N + 3, 8] $T; input any_u : [2, N, 3] $T\n"
     "output a = any_x < any_y.T\n"
     "output b = any_x >= any_z[:, 1:13:2]\n"
     "output c = any_x == flip(any_z[:, :6], axis=1)\n"
     "output d = any_x != broadcast_to(any_w, [N, 6])\n"
     "output e = any_v > pad(any_x, [[1, 2], [0, 2]], value=3)\n"
     "output f = any_x <= reshape(permute_dims(any_u, [1, 0, 2]), [N, 6])\n"
     "output g = any_x < tile(any_x[:, 2:4], [1, 3])\n",
     {EXACT}},
    {"rank 0 and 1",
     "f32 i32",
     "1; 3; 64; 1000",
     "dim N in 1..=1000\n"
     "input x : [N] $T; input s : $T\n"
     "output a = x * s + s; output b = s * s\n",
     {.ulps = 2, .absolute = 0x1p-20}},
    {"many axes",
     "f32 f16",
     "1; 3; 5",
     "dim N in 1..=5\n"
     "input x : [2, N, 3, 2, N, 2] $T; input y : [2, N, 2, 3, N, 2] $T\n"
     "output a = permute_dims(x, [5, 4, 3, 2, 1, 0]) + permute_dims(y, [0, 1, 2, 3, 4, 5])\n",
     {EXACT}},
};

void numeric_maps(Arena *arena, NumericList *out) {
    static const char *const dtypes[] = {"f32", "f16", "bf16", "i32", "u32", "i8", "u8", "bool"};
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) gather(arena, dtypes[i], 16, out);
    numeric_from_cases(arena, cases, sizeof cases / sizeof *cases, out);
}
