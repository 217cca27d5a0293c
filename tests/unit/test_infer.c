// Shapes, normal forms of attributes, and the texts of misuse, row by row.
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tests/support/graph_make.h"

// An op on inputs whose types are given; what comes out: the result types, or the error (up to the
// types of the operands), and a help.
typedef struct Case {
    OpId op;
    const char *operand[5];
    const char *attrs;
    const char *result; // several results: joined by "; "
    const char *error, *help;
    const char *normal; // attribute = its printed normal form
    const char *check;  // "left REL right" left for the run, or NULL
} Case;

static Graph *make_graph(void) {
    Graph *g = graph_create("m");
    dim_symbol(g->dims, "N", 1, 1024);
    dim_symbol(g->dims, "P", 0, 511);
    dim_symbol(g->dims, "S", 1, 512);
    return g;
}

static void check_attr(Graph *g, NodeId node, const char *expected) {
    const char *equals = strchr(expected, '=');
    char *name = arena_strndup(g->arena, expected, (size_t)(equals - expected));
    int index = op_attr_index(graph_op(g, node), name);
    assert_true(index >= 0);
    Text text = {0};
    attr_print(g->dims, graph_op(g, node)->attr[index].kind, &graph_node(g, node)->attr[index],
               &text);
    assert_string_equal(text.data, equals + 1);
    text_free(&text);
}

static void check_assert(const Graph *g, const char *expected) {
    static const char *const relation[] = {"==", "!=", "<", "<=", ">", ">="};
    Text text = {0};
    for (uint32_t i = 0; i < g->asserts.len; i++) {
        const Assertion *a = &g->asserts.at[i];
        if (i) text_put(&text, "; ");
        dim_print(g->dims, a->left, &text);
        text_printf(&text, " %s ", relation[a->relation]);
        dim_print(g->dims, a->right, &text);
    }
    assert_string_equal(text.data ? text.data : "", expected ? expected : "");
    text_free(&text);
}

static void run_case(const Case *c) {
    Graph *g = make_graph();
    Diags *diags = diags_create();
    static const char *const names[] = {"a", "b", "c", "d", "e"};
    ValueId operand[5] = {0};
    uint32_t count = 0;
    for (uint32_t i = 0; i < 5 && c->operand[i]; i++) {
        if (*c->operand[i]) operand[i] = make_input(g, names[i], c->operand[i]);
        count = i + 1;
    }
    NodeId node = make_node(g, diags, c->op, NULL, c->attrs, operand, count);
    Text text = {0};
    if (c->error) {
        assert_int_equal(node, 0);
        diags_render(diags, &text);
        Text expected = {0};
        text_printf(&expected, "error: %s: %s", op_info(c->op)->name, c->error);
        const char *found = strstr(text.data, expected.data);
        if (!found) fail_msg("expected \"%s\" in:\n%s", expected.data, text.data);
        if (c->help && !strstr(text.data, c->help))
            fail_msg("no \"%s\" in:\n%s", c->help, text.data);
        if (!c->help) assert_null(strstr(text.data, "help:"));
        text_free(&expected);
    } else {
        if (!node) {
            diags_render(diags, &text);
            fail_msg("%s: %s", op_info(c->op)->name, text.data);
        }
        for (uint32_t i = 0; i < graph_node(g, node)->results; i++) {
            if (i) text_put(&text, "; ");
            type_print(g->dims, &graph_value(g, graph_result(g, node, i))->type, &text);
        }
        assert_string_equal(text.data, c->result);
        if (c->normal) check_attr(g, node, c->normal);
        check_assert(g, c->check);
    }
    text_free(&text);
    diags_destroy(diags);
    graph_destroy(g);
}

#define RUN(cases)                                                                                 \
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) run_case(&cases[i])

static void test_maps(void **state) {
    (void)state;
    static const Case cases[] = {
        {OP_RELU, {"[N, 3] i32"}, .result = "[N, 3] i32"},
        {OP_ADD, {"[N, 3] f16", "[3] f16"}, .result = "[N, 3] f16"},
        {OP_ADD, {"[3] f16", "[N, 1] f16"}, .result = "[N, 3] f16"},
        {OP_ADD, {"f32", "[1, N] f32"}, .result = "[1, N] f32"},
        {OP_ADD, {"[P + 1] f32", "[1 + P] f32"}, .result = "[P + 1] f32"},
        {OP_ADD, {"[N] f32", "[S] f32"}, .error = "sizes N and S do not broadcast, at axis -1"},
        {OP_ADD,
         {"[3, 4] f32", "[2, 4] f32"},
         .error = "sizes 3 and 2 do not broadcast, at axis -2 "
                  "(a: [3, 4] f32, b: [2, 4] f32)"},
        {OP_ADD,
         {"[3] f32", "[3] f16"},
         .error = "operands are f32 and f16",
         .help = "nothing is converted silently; write cast(b, f32)"},
        {OP_ADD,
         {"[3] bool", "[3] bool"},
         .error = "a must be f32, f16, bf16, i32 or u32, not bool"},
        {OP_ADD, {"[3] i8", "[3] i8"}, .error = "a must be f32, f16, bf16, i32 or u32, not i8"},
        {OP_ADD, {"[3] f32"}, .error = "y is missing"},
        {OP_ADD, {"f32", "f32", "f32"}, .error = "takes at most 2 tensors, not 3"},
        {OP_DIVIDE,
         {"[3] i32", "[3] i32"},
         .error = "a must be a float (f32, f16, bf16), not i32",
         .help = "integers divide with //, which rounds down"},
        {OP_EXP, {"[3] u32"}, .error = "a must be a float (f32, f16, bf16), not u32"},
        {OP_LOGICAL_AND, {"[3] f32", "[3] f32"}, .error = "a must be bool, not f32"},
        {OP_EXP, {"[3] f64"}, .error = "f64 is not supported yet"},
        {OP_LESS, {"[N] i8", "i8"}, .result = "[N] bool"},
        {OP_WHERE, {"[N, 1] bool", "[4] f32", "f32"}, .result = "[N, 4] f32"},
        {OP_WHERE, {"[N] i32", "[N] f32", "f32"}, .error = "a must be bool, not i32"},
        {OP_CLIP, {"[N] f32", "", "f32"}, .result = "[N] f32"},
        {OP_CLIP, {"[1] f32", "[N] f32"}, .result = "[N] f32"},
        {OP_CAST, {"[N] bool"}, "dtype=u8", .result = "[N] u8"},
        {OP_CAST, {"[N] bool"}, .error = "dtype is missing"},
        {OP_CAST, {"[N] bool"}, "dtype=i64", .error = "i64 is not supported yet"},
    };
    RUN(cases);
}

static void test_reductions(void **state) {
    (void)state;
    static const Case cases[] = {
        {OP_SUM, {"[N, 3, 4] f32"}, .result = "f32", .normal = "axis=[0, 1, 2]"},
        {OP_SUM, {"[N, 3, 4] f32"}, "axis=-2", .result = "[N, 4] f32", .normal = "axis=1"},
        {OP_SUM,
         {"[N, 3, 4] f32"},
         "axis=[2, 0], keepdims=true",
         .result = "[1, 3, 1] f32",
         .normal = "axis=[0, 2]"},
        {OP_SUM, {"[N] u8"}, .result = "i32"},
        {OP_SUM, {"[N] f8e4m3"}, .error = "f8e4m3 has no sums", .help = "write cast(a, f32)"},
        {OP_SUM, {"[N] bool"}, .error = "a must be a number, not bool"},
        {OP_SUM, {"[N, 3] f32"}, "axis=2", .error = "axis 2 is outside a tensor of rank 2"},
        {OP_SUM, {"[N, 3] f32"}, "axis=[0, -2]", .error = "axis names axis 0 twice"},
        {OP_MAX, {"[N, 3] i32"}, "axis=0", .result = "[3] i32"},
        {OP_MAX, {"[N, P] f32"}, "axis=1", .error = "axis 1 of size P may be empty"},
        {OP_ANY, {"[N, P] bool"}, "axis=1", .result = "[N] bool"},
        {OP_ARGMAX, {"[N, 10] f32"}, "axis=-1", .result = "[N] i32", .normal = "axis=1"},
        {OP_ARGMIN, {"[N, 10] f32"}, "axis=0, keepdims=true", .result = "[1, 10] i32"},
        {OP_ARGMAX, {"[N, 0] f32"}, "axis=1", .error = "axis 1 of size 0 may be empty"},
        {OP_ARGMAX, {"[N, 10] f32"}, .error = "axis is missing"},
        {OP_CUMSUM, {"[N, 10] i32"}, "axis=-2", .result = "[N, 10] i32", .normal = "axis=0"},
        {OP_SOFTMAX, {"[N, 10] f16"}, .result = "[N, 10] f16", .normal = "axis=1"},
        {OP_SOFTMAX, {"f16"}, .error = "axis -1 is outside a tensor of rank 0"},
        {OP_LAYER_NORM,
         {"[N, 4, 8] f32", "[4, 8] f32", "[4, 8] f32"},
         "axis=1",
         .result = "[N, 4, 8] f32"},
        {OP_LAYER_NORM,
         {"[N, 4, 8] f32", "", "[8] f32"},
         .result = "[N, 4, 8] f32",
         .normal = "axis=2"},
        {OP_RMS_NORM,
         {"[N, 8] f32", "[7] f32"},
         .error = "b must have the shape of the axes from 1 on, [8] f32"},
        {OP_GROUP_NORM, {"[N, 6, 5] f32", "[6] f32"}, "num_groups=3", .result = "[N, 6, 5] f32"},
        {OP_GROUP_NORM,
         {"[N, 6, 5] f32"},
         "num_groups=4",
         .error = "6 channels do not divide into 4 groups"},
        {OP_BATCH_NORM, {"[N, 6] f32", "[6] f32", "[6] f32"}, .result = "[N, 6] f32"},
        {OP_BATCH_NORM, {"[N, 6] f32", "[6] f32", "[5] f32"}, .error = "c must have the shape [6]"},
        {OP_BATCH_NORM,
         {"[6] f32", "[6] f32", "[5] f32"},
         .error = "a must have rank 2 or more, "
                  "not 1"},
    };
    RUN(cases);
}

static void test_products(void **state) {
    (void)state;
    static const Case cases[] = {
        {OP_MATMUL, {"[2, N, 256] f16", "[256, 640] f16"}, .result = "[2, N, 640] f16"},
        {OP_MATMUL, {"[2, 1, N, 3] f32", "[5, 3, 4] f32"}, .result = "[2, 5, N, 4] f32"},
        {OP_MATMUL, {"[3] f32", "[5, 3, 4] f32"}, .result = "[5, 4] f32"},
        {OP_MATMUL, {"[5, N, 3] f32", "[3] f32"}, .result = "[5, N] f32"},
        {OP_MATMUL, {"[N] f32", "[N] f32"}, .result = "f32"},
        {OP_MATMUL,
         {"[2, 3] f16", "[3, 4] f16"},
         "dtype=f32",
         .result = "[2, 4] f32",
         .normal = "dtype=f32"},
        {OP_MATMUL,
         {"[2, 3] f16", "[3, 4] f16"},
         "dtype=f16",
         .result = "[2, 4] f16",
         .normal = "dtype=None"},
        {OP_MATMUL, {"[2, 3] i8", "[3, 4] i8"}, .result = "[2, 4] i32"},
        {OP_MATMUL, {"[2, 3] f8e5m2", "[3, 4] f8e5m2"}, .result = "[2, 4] f32"},
        {OP_MATMUL,
         {"[2, 3] i8", "[3, 4] i8"},
         "dtype=f32",
         .error = "a product of i8 cannot be f32"},
        {OP_MATMUL,
         {"[1, S, 256] f16", "[640, 256] f16"},
         .error = "inner sizes differ: 256 and 640",
         .help = "b looks like a PyTorch [out, in] weight; write linear(a, b)"},
        {OP_MATMUL, {"[N, 256] f16", "[640, 100] f16"}, .error = "inner sizes differ: 256 and 640"},
        {OP_MATMUL, {"f16", "[640, 100] f16"}, .error = "a must have rank 1 or more, not 0"},
        {OP_MATMUL,
         {"[2, 5, 3] f32", "[4, 3, 5] f32"},
         .error = "sizes 2 and 4 do not broadcast, at axis -1"},
        {OP_LINEAR, {"[N, S, 16] f16", "[4, 16] f16", "[4] f16"}, .result = "[N, S, 4] f16"},
        {OP_LINEAR, {"[16] f16", "[4, 16] f16"}, "dtype=f32", .result = "[4] f32"},
        {OP_LINEAR,
         {"[N, 16] f16", "[16, 4] f16"},
         .error = "inner sizes differ: 16 and 4",
         .help = "b looks like an [in, out] weight; write a @ b"},
        {OP_LINEAR,
         {"[N, 16] f16", "[4, 16] f16", "[3] f16"},
         .error = "c must have the shape [4]"},
        {OP_LINEAR, {"[N, 16] f16", "[4, 16] f16", "[4] f32"}, .error = "c must be f16, not f32"},
        {OP_LINEAR, {"[N, 16] f16", "[1, 4, 16] f16"}, .error = "b must have rank 2, not 3"},
        {OP_CONTRACT,
         {"[2, N, 3, 4] f32", "[2, 5, 3, 4] f32"},
         "batch=1, k=2",
         .result = "[2, N, 5] f32"},
        {OP_CONTRACT, {"[N, 3] f32", "[5, 3] f32"}, .result = "[N, 5] f32"},
        {OP_CONTRACT, {"[N, 3] f32", "[5, 4] f32"}, .error = "inner sizes differ: 3 and 4"},
        {OP_CONTRACT, {"[N, 3] f32", "[5, 3] f32"}, "batch=1", .error = "batch sizes differ"},
        {OP_CONTRACT,
         {"[N, 3] f32", "[5, 3] f32"},
         "batch=2",
         .error = "batch=2 and k=1 do not fit ranks 2 and 2"},
    };
    RUN(cases);
}

static void test_windows(void **state) {
    (void)state;
    static const Case cases[] = {
        {OP_CONV2D,
         {"[N, 1, 28, 28] f32", "[6, 1, 5, 5] f32", "[6] f32"},
         "padding=2",
         .result = "[N, 6, 28, 28] f32",
         .normal = "padding=2"},
        {OP_CONV2D,
         {"[N, 4, 9, 10] f32", "[6, 2, 3, 2] f32"},
         "stride=[2, 1], dilation=[1, 3], groups=2, padding=[[1, 0], [2, 2]]",
         .result = "[N, 6, 4, 11] f32",
         .normal = "padding=[[1, 0], [2, 2]]"},
        {OP_CONV2D,
         {"[N, 1, 8, 8] f32", "[1, 1, 3, 3] f32"},
         "padding=[[1, 1], [0, 0]]",
         .result = "[N, 1, 8, 6] f32",
         .normal = "padding=[1, 0]"},
        {OP_CONV2D,
         {"[N, 1, 8, 9] f32", "[1, 1, 4, 4] f32"},
         "padding=\"same\", stride=2",
         .result = "[N, 1, 4, 5] f32",
         .normal = "padding=[[1, 1], [1, 2]]"},
        {OP_CONV2D,
         {"[N, 1, 8, 9] f32", "[1, 1, 4, 4] f32"},
         "padding=\"valid\", stride=[2, 2]",
         .result = "[N, 1, 3, 3] f32",
         .normal = "stride=2"},
        {OP_CONV1D, {"[2, 3, S] f32", "[4, 3, 1] f32"}, .result = "[2, 4, S] f32"},
        {OP_CONV1D,
         {"[2, 3, S] f32", "[4, 3, 5] f32"},
         .result = "[2, 4, S - 4] f32",
         .check = "5 <= S"},
        {OP_CONV1D,
         {"[2, 3, 4] f32", "[4, 3, 5] f32"},
         .error = "a window of 5 cells does not fit the padded input of 4"},
        {OP_CONV1D,
         {"[2, 3, 4] f32", "[4, 2, 3] f32"},
         .error = "channels a group differ: 3 and 2"},
        {OP_CONV1D,
         {"[2, 3, 4] f32", "[4, 2, 3] f32"},
         "groups=2",
         .error = "3 and 4 channels do not divide into 2 groups"},
        {OP_CONV1D,
         {"[2, 3, 4] f32", "[4, 3, 3] f32"},
         "stride=0",
         .error = "stride must be from 1 to 2147483647, not 0"},
        {OP_CONV1D,
         {"[2, 3, 4] f32", "[4, 3, 3] f32"},
         "stride=[1, 2]",
         .error = "stride takes 1 or 1 numbers, not 2"},
        {OP_CONV1D,
         {"[2, 3, 4] f32", "[4, 3, 3] f32"},
         "padding=-1",
         .error = "padding must not be negative"},
        {OP_CONV2D,
         {"[2, 3, 4, 4] f32", "[4, 3, 3, 3] f32"},
         "padding=[1, 2, 3]",
         .error = "padding must be a number, 2 numbers or 2 pairs"},
        {OP_MAX_POOL2D,
         {"[N, 3, 7, 8] f32"},
         "kernel_size=2",
         .result = "[N, 3, 3, 4] f32",
         .normal = "stride=2"},
        {OP_MAX_POOL2D,
         {"[N, 3, 7, 8] f32"},
         "kernel_size=2, ceil_mode=true",
         .result = "[N, 3, 4, 4] f32"},
        // Without the rule about the trailing padding there would be 3 windows.
        {OP_AVG_POOL2D,
         {"[N, 3, 3, 3] f32"},
         "kernel_size=2, padding=1, stride=2, ceil_mode=true",
         .result = "[N, 3, 2, 2] f32"},
        {OP_AVG_POOL2D,
         {"[N, 3, 7, 8] i32"},
         "kernel_size=2",
         .error = "a must be a float (f32, f16, bf16), not i32"},
        {OP_AVG_POOL2D, {"[N, 3, 7, 8] f32"}, .error = "kernel_size is missing"},
        {OP_ADAPTIVE_AVG_POOL2D,
         {"[N, 3, 7, 8] f32"},
         "output_size=[1, 4]",
         .result = "[N, 3, 1, 4] f32"},
        {OP_ADAPTIVE_AVG_POOL2D,
         {"[3, 7, 8] f32"},
         "output_size=1",
         .error = "a must have rank 4, not 3"},
    };
    RUN(cases);
}

static void test_moves(void **state) {
    (void)state;
    static const Case cases[] = {
        {OP_RESHAPE, {"[N, 4, 6] f32"}, "shape=[N, 24]", .result = "[N, 24] f32"},
        {OP_RESHAPE,
         {"[N, 4, 6] f32"},
         "shape=[-1, 8]",
         .result = "[N * 3, 8] f32",
         .normal = "shape=[N * 3, 8]"},
        {OP_RESHAPE, {"[N] f32"}, "shape=[S, 2]", .result = "[S, 2] f32", .check = "N == S * 2"},
        {OP_RESHAPE,
         {"[12] f32"},
         "shape=[5, 2]",
         .error = "12 elements cannot become [5, 2] f32, which has 10"},
        {OP_RESHAPE, {"[12] f32"}, "shape=[-1, -1]", .error = "shape has more than one -1"},
        {OP_RESHAPE,
         {"[0] f32"},
         "shape=[-1, 0]",
         .error = "-1 is undetermined beside a size of 0"},
        {OP_RESHAPE,
         {"[1] f32"},
         "shape=[1, 1, 1, 1, 1, 1, 1, 1, 1]",
         .error = "rank 9 is over the limit of 8"},
        {OP_RESHAPE,
         {"[1] f32"},
         "shape=[2147483647, 2147483647, 2147483647]",
         .error = "1 elements cannot become [2147483647, 2147483647, 2147483647] f32"},
        {OP_BROADCAST_TO, {"[3, 1] f32"}, "shape=[N, 3, 4]", .result = "[N, 3, 4] f32"},
        {OP_BROADCAST_TO,
         {"[3] f32"},
         "shape=[4]",
         .error = "size 3 does not broadcast to 4, at axis -1"},
        {OP_BROADCAST_TO, {"[3, 3] f32"}, "shape=[3]", .error = "rank 2 cannot become rank 1"},
        {OP_FLATTEN,
         {"[N, 16, 5, 5] f32"},
         "start_dim=1",
         .result = "[N, 400] f32",
         .normal = "end_dim=3"},
        {OP_FLATTEN, {"f32"}, .result = "[1] f32"},
        {OP_FLATTEN, {"[2, 3, 4] f32"}, "end_dim=1", .result = "[6, 4] f32"},
        {OP_FLATTEN,
         {"[2, 3] f32"},
         "start_dim=1, end_dim=0",
         .error = "start_dim 1 is after end_dim 0"},
        {OP_TRANSPOSE, {"[N, 2, 3] f32"}, "a=-1, b=0", .result = "[3, 2, N] f32", .normal = "a=0"},
        {OP_PERMUTE_DIMS,
         {"[N, 2, 3] f32"},
         "axes=[1, -1, 0]",
         .result = "[2, 3, N] f32",
         .normal = "axes=[1, 2, 0]"},
        {OP_PERMUTE_DIMS,
         {"[N, 2] f32"},
         "axes=[1, 1]",
         .error = "axes must name each of the 2 axes once"},
        {OP_EXPAND_DIMS, {"[N] f32"}, "axis=-1", .result = "[N, 1] f32", .normal = "axis=1"},
        {OP_EXPAND_DIMS, {"[N] f32"}, "axis=2", .error = "axis 2 is outside a tensor of rank 2"},
        {OP_SQUEEZE, {"[1, N, 1] f32"}, "axis=[-1, 0]", .result = "[N] f32"},
        {OP_SQUEEZE, {"[1, N] f32"}, "axis=1", .error = "axis 1 has size N, not 1"},
        {OP_FLIP, {"[2, N] bool"}, "axis=-1", .result = "[2, N] bool", .normal = "axis=1"},
        {OP_SPLIT, {"[2, 6] f32"}, "sizes=[1, 5], axis=1", .result = "[2, 1] f32; [2, 5] f32"},
        {OP_SPLIT, {"[2, 6] f32"}, "sizes=[1, 4], axis=1", .error = "sizes add up to 5, not to 6"},
        {OP_SPLIT, {"[2, 6] f32"}, "sizes=[]", .error = "sizes is empty"},
        {OP_PAD, {"[N, 2] i32"}, "widths=[[1, 2], [0, P]]", .result = "[N + 3, P + 2] i32"},
        {OP_PAD,
         {"[N, 2] i32"},
         "widths=[[1, 2]]",
         .error = "widths must have one [before, after] for each of the 2 axes"},
        {OP_PAD, {"[2] i32"}, "widths=[[1, -2]]", .error = "widths must not be negative"},
        {OP_PAD,
         {"[2] i32"},
         "widths=[[1, 2]], value=0.5",
         .error = "value is a float, the tensor is i32"},
        {OP_PAD, {"[2] u8"}, "widths=[[1, 2]], value=256", .error = "value 256 does not fit u8"},
        {OP_PAD,
         {"[2] f16"},
         "widths=[[1, 2]], value=70000",
         .error = "value 70000 would be infinite as f16"},
        {OP_TILE, {"[N, 2] f32"}, "reps=[2, 3]", .result = "[N * 2, 6] f32"},
        {OP_TILE,
         {"[N, 2] f32"},
         "reps=2",
         .error = "reps must have one number for each of the 2 axes"},
        {OP_TILE, {"[2] f32"}, "reps=-1", .error = "reps must not be negative"},
        {OP_SLICE,
         {"[N, 10] f32"},
         "starts=[0, -3], stops=[N, 10], steps=[1, 2]",
         .result = "[N, 2] f32",
         .normal = "starts=[0, 7]"},
        {OP_SLICE,
         {"[N, 10] f32"},
         "starts=[-1, 0], stops=[N, 10], steps=[1, 1]",
         .result = "[1, 10] f32",
         .normal = "starts=[N - 1, 0]"},
        {OP_SLICE,
         {"[512] f32"},
         "starts=[P], stops=[P + S], steps=[1]",
         .result = "[S] f32",
         .check = "P + S <= 512"},
        {OP_SLICE,
         {"[10] f32"},
         "starts=[2], stops=[12], steps=[1]",
         .error = "2:12 is outside axis 0 of size 10"},
        {OP_SLICE,
         {"[10] f32"},
         "starts=[-11], stops=[3], steps=[1]",
         .error = "-1:3 is outside axis 0 of size 10"},
        {OP_SLICE,
         {"[10] f32"},
         "starts=[5], stops=[3], steps=[1]",
         .error = "start 5 is after end 3"},
        {OP_SLICE,
         {"[10] f32"},
         "starts=[0], stops=[3], steps=[-1]",
         .error = "step -1 must be at least 1",
         .help = "flip reverses an axis"},
        {OP_SLICE,
         {"[10, 2] f32"},
         "starts=[0], stops=[3], steps=[1]",
         .error = "needs a start, stop and step for each of the 2 axes"},
        {OP_UNFOLD, {"[N, 10] f32"}, "axis=-1, kernel=3, count=8", .result = "[N, 3, 8] f32"},
        {OP_UNFOLD,
         {"[N, 10] f32"},
         "axis=1, kernel=3, count=8, stride=0",
         .error = "stride and dilation must be from 1 to 2147483647"},
        {OP_CONCAT, {"[N, 2] f32", "[3, 2] f32", "[P, 2] f32"}, .result = "[N + P + 3, 2] f32"},
        {OP_CONCAT, {"[N, 2] f32", "[N, 3] f32"}, .error = "sizes differ at axis 1: 2 and 3"},
        {OP_CONCAT, {"[2] f32", "[2, 2] f32"}, .error = "ranks differ: 1 and 2"},
        {OP_STACK, {"[N, 2] f32", "[N, 2] f32"}, "axis=-1", .result = "[N, 2, 2] f32"},
        {OP_STACK, {"[N, 2] f32", "[N, 3] f32"}, .error = "sizes differ at axis 1: 2 and 3"},
    };
    RUN(cases);
}

static void test_sources(void **state) {
    (void)state;
    static const Case cases[] = {
        {OP_EMBEDDING, {"[N, S] i32", "[128, 64] f16"}, .result = "[N, S, 64] f16"},
        {OP_EMBEDDING, {"[N] u32", "[128, 64] f16"}, .error = "a must be i32, not u32"},
        {OP_EMBEDDING, {"[N] i32", "[64] f16"}, .error = "b must have rank 2, not 1"},
        {OP_TAKE, {"[4, N, 6] f32", "[2, 3] i32"}, "axis=1", .result = "[4, 2, 3, 6] f32"},
        {OP_TAKE, {"[4, N, 6] f32", "i32"}, "axis=-1", .result = "[4, N] f32"},
        {OP_TAKE_ALONG_AXIS, {"[4, N] f32", "[4, 2] i32"}, "axis=1", .result = "[4, 2] f32"},
        {OP_TAKE_ALONG_AXIS,
         {"[4, N] f32", "[3, 2] i32"},
         "axis=1",
         .error = "sizes differ at axis 0: 4 and 3"},
        {OP_ARANGE, {NULL}, "start=P, stop=P + S", .result = "[S] i32"},
        {OP_ARANGE, {NULL}, "start=1, stop=8, step=3, dtype=f32", .result = "[3] f32"},
        {OP_ARANGE, {NULL}, "start=3, stop=1, dtype=f32", .error = "size -2 is negative"},
        {OP_ARANGE, {NULL}, "start=0, stop=1, step=0", .error = "step 0 must be at least 1"},
        {OP_ARANGE,
         {NULL},
         "start=0, stop=1, dtype=bool",
         .error = "dtype must be f32, f16, bf16, i32 or u32, not bool"},
        {OP_FULL,
         {NULL},
         "shape=[N, 2], value=3, dtype=f32",
         .result = "[N, 2] f32",
         .normal = "value=3.0"},
        {OP_FULL, {NULL}, "shape=[2], value=-1, dtype=u32", .error = "value -1 does not fit u32"},
        {OP_FULL,
         {NULL},
         "shape=[2147483648], value=1, dtype=u8",
         .error = "size 2147483648 may reach 2^31"},
        {OP_FULL,
         {NULL},
         "shape=[1048576, 1048576], value=1, dtype=u8",
         .error = "a result of [1048576, 1048576] u8 may reach 2^40 bytes"},
        {OP_FULL, {NULL}, "shape=[-1], value=1, dtype=u8", .error = "size -1 is negative"},
        {OP_UPDATE,
         {"[2, 512] f32", "[S] f32"},
         "starts=[0, P], stops=[1, P + S], steps=[1, 1]",
         .result = "[2, 512] f32",
         .check = "P + S <= 512"},
        {OP_UPDATE,
         {"[2, 4] f32", "[3] f32"},
         "starts=[0, 0], stops=[2, 2], steps=[1, 1]",
         .error = "sizes 2 and 3 do not broadcast, at axis -1"},
        {OP_UPDATE,
         {"[2, 4] f32", "[2, 2] f32"},
         "starts=[0, 0], stops=[1, 2], steps=[1, 1]",
         .error = "b does not broadcast to the slice, [1, 2] f32"},
    };
    RUN(cases);
}

static void test_later(void **state) {
    (void)state;
    for (OpId id = OP_NONE + 1; id < OP_COUNT; id++) {
        if (!op_info(id)->later) continue;
        Case refused = {id, {NULL}, .error = "not supported yet"};
        run_case(&refused);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_maps),     cmocka_unit_test(test_reductions),
        cmocka_unit_test(test_products), cmocka_unit_test(test_windows),
        cmocka_unit_test(test_moves),    cmocka_unit_test(test_sources),
        cmocka_unit_test(test_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
