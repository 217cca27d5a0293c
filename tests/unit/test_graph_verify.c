// The verifier of graphs: each planted violation is found, and nothing else.
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tests/support/graph_make.h"

// The verifier finds exactly one violation, with this text.
static void assert_refused(const Graph *g, const char *expected) {
    Diags *diags = diags_create();
    assert_false(graph_verify(g, diags));
    Text text = {0};
    diags_render(diags, &text);
    if (!strstr(text.data, expected)) fail_msg("expected \"%s\" in:\n%s", expected, text.data);
    if (diags_error_count(diags) != 1) fail_msg("one error expected:\n%s", text.data);
    text_free(&text);
    diags_destroy(diags);
}

static void output(Graph *g, const char *name, ValueId value) {
    graph_add_output(g, name, NULL, value, (Loc){0});
}

typedef struct Parts {
    Graph *g;
    ValueId x, a, b, s, u, h;
    NodeId repeat, fused;
} Parts;

static Parts make_parts(void) {
    Parts p = {.g = graph_create("m")};
    Graph *g = p.g;
    dim_symbol(g->dims, "N", 1, 8);
    p.x = make_input(g, "x", "[4] f32");
    p.s = make_state(g, "s", "[4] f32");
    p.a = make_op(g, OP_EXP, "a", NULL, p.x, 0, 0);
    p.u = make_op(g, OP_UPDATE, "u", "starts=[0], stops=[4], steps=[1]", p.s, p.a, 0);
    p.repeat = graph_begin_repeat(g, "i", 0, 2, &p.a, 1, NULL, 0);
    ValueId next = make_op(g, OP_SIN, "next", NULL, graph_node(g, p.repeat)->param[0], 0, 0);
    graph_end_repeat(g, p.repeat, &next);
    p.h = graph_result(g, p.repeat, 0);
    p.fused = graph_begin_fused(g, "k", "map", false);
    ValueId inner = make_op(g, OP_COS, "inner", NULL, p.h, 0, 0);
    p.b = make_op(g, OP_RELU, "b", NULL, inner, 0, 0);
    graph_end_fused(g, p.fused, &p.b, 1);
    output(g, "b", p.b);
    return p;
}

static Node *definer(const Parts *p, ValueId value) {
    return graph_node(p->g, graph_value(p->g, value)->node);
}

static void plant_order(Parts *p) {
    definer(p, p->a)->operand[0] = p->h;
}
static void plant_inner_use(Parts *p) {
    make_op(p->g, OP_TANH, "z", NULL, graph_find(p->g, "inner"), 0, 0);
}
static void plant_body_use(Parts *p) {
    make_op(p->g, OP_TANH, "z", NULL, graph_find(p->g, "next"), 0, 0);
}
static void plant_missing_value(Parts *p) {
    definer(p, p->a)->operand[0] = 1000;
}
static void plant_type(Parts *p) {
    make_op(p->g, OP_TANH, "z", NULL, p->b, 0, 0);
    graph_value(p->g, graph_find(p->g, "z"))->type.size[0] = dim_const(p->g->dims, 5);
}
static void plant_attr(Parts *p) {
    static const int64_t axis[] = {-1};
    ValueId z = make_op(p->g, OP_SUM, "z", "axis=0", p->b, 0, 0);
    definer(p, z)->attr[0].ints.at = axis;
}
static void plant_rule(Parts *p) {
    definer(p, p->a)->op = OP_LOGICAL_NOT;
}
static void plant_name(Parts *p) {
    make_op(p->g, OP_TANH, "z", NULL, p->b, 0, 0);
    graph_value(p->g, graph_find(p->g, "z"))->name = "a";
}
static void plant_owner(Parts *p) {
    ValueId z = make_op(p->g, OP_TANH, "z", NULL, p->b, 0, 0);
    graph_value(p->g, z)->index = 3;
}
static void plant_second_update(Parts *p) {
    make_op(p->g, OP_UPDATE, "z", "starts=[0], stops=[4], steps=[1]", p->s, p->x, 0);
}
static void plant_update_of_value(Parts *p) {
    make_op(p->g, OP_UPDATE, "z", "starts=[0], stops=[4], steps=[1]", p->a, p->x, 0);
}
static void plant_carried_type(Parts *p) {
    NodeId repeat = graph_begin_repeat(p->g, "j", 0, 2, &p->b, 1, NULL, 0);
    graph_end_repeat(p->g, repeat, graph_node(p->g, repeat)->param);
    graph_value(p->g, graph_result(p->g, repeat, 0))->type.dtype = DT_F16;
}
static void plant_carried_state(Parts *p) {
    ValueId other = make_state(p->g, "t", "[4] f32");
    NodeId repeat = graph_begin_repeat(p->g, "j", 0, 2, &p->u, 1, NULL, 0);
    graph_end_repeat(p->g, repeat, &other);
}
static void plant_count(Parts *p) {
    graph_node(p->g, p->repeat)->hi = 5000;
}
static void plant_inline(Parts *p) {
    definer(p, p->a)->inline_view = true;
}
static void plant_inline_rank(Parts *p) {
    make_view(p->g, OP_FULL, "shape=[2], value=1, dtype=f32", 0);
}
static void plant_stage(Parts *p) {
    make_op(p->g, OP_SOFTMAX, "z", NULL, p->b, 0, 0);
    p->g->stage = STAGE_DECOMPOSED;
}
static void plant_unfused(Parts *p) {
    // All but the update stands in a fused.
    Graph *g = graph_create("m");
    ValueId s = make_state(g, "s", "[4] f32"), x = make_input(g, "x", "[4] f32");
    make_op(g, OP_UPDATE, "u", "starts=[0], stops=[4], steps=[1]", s, x, 0);
    g->stage = STAGE_FUSED;
    graph_destroy(p->g);
    p->g = g;
}
static void plant_twice(Parts *p) {
    Region *body = &p->g->regions.at[1];
    vec_push(p->g->arena, &body->nodes, body->nodes.at[0]);
}
static void plant_result(Parts *p) {
    graph_node(p->g, p->fused)->result[0] = p->a;
    p->g->outputs.at[0].value = p->a;
}
static void plant_no_result(Parts *p) {
    graph_node(p->g, p->fused)->results = 0;
    p->g->outputs.at[0].value = p->a;
}
static void plant_output(Parts *p) {
    output(p->g, "z", graph_find(p->g, "inner"));
}
static void plant_output_name(Parts *p) {
    output(p->g, "b", p->a);
}
static void plant_decl(Parts *p) {
    definer(p, p->x)->decl = NULL;
}
static void plant_key(Parts *p) {
    definer(p, p->s)->decl->key = NULL;
}
static void plant_state_size(Parts *p) {
    ValueId z = make_param(p->g, "z", "[4] f32");
    graph_value(p->g, z)->type.size[0] = dim_find(p->g->dims, "N");
}
static void plant_assert(Parts *p) {
    Dim n = dim_find(p->g->dims, "N");
    graph_add_assert(p->g,
                     (Assertion){.left = n, .right = n, .relation = DIM_EQ, .message = "% %%"});
}

static void test_violations(void **state) {
    (void)state;
    static const struct {
        void (*plant)(Parts *);
        const char *error;
    } cases[] = {
        {plant_order, "graph: a: a.out is not defined here"},
        {plant_inner_use, "graph: z: inner is not defined here"},
        {plant_body_use, "graph: z: next is not defined here"},
        {plant_missing_value, "graph: a: value 1000 does not exist"},
        {plant_type, "graph: z: has the type [5] f32, not [4] f32"},
        {plant_attr, "graph: z: axis is not in normal form"},
        {plant_rule, "logical_not: x must be bool, not f32"},
        {plant_name, "graph: a: the name a is not its own"},
        {plant_owner, "graph: z: z does not point back to its definition"},
        {plant_second_update, "graph: z: s is updated twice"},
        {plant_update_of_value, "graph: z: updates a, which is no state"},
        {plant_carried_type, "graph: repeat: carried b and b.out differ in type"},
        {plant_carried_state, "graph: repeat: carries u on as t"},
        {plant_count, "graph: repeat: cannot count from 0 to 5000"},
        {plant_inline, "graph: a: exp cannot be an inline view"},
        {plant_inline_rank, "graph: full: an inline number has rank 0"},
        {plant_stage, "graph: z: softmax should be gone by now"},
        {plant_unfused, "graph: u: update stands outside of a fused"},
        {plant_twice, "graph: x: is listed in a wrong place"},
        {plant_result, "graph: k: does not define its result a"},
        {plant_no_result, "graph: k: has no result"},
        {plant_output, "graph: output z is not defined in the model"},
        {plant_output_name, "graph: two outputs are called b"},
        {plant_decl, "graph: x: lacks its declaration"},
        {plant_key, "graph: s: lacks its key"},
        {plant_state_size, "graph: z: size 0 must be constant"},
        {plant_assert, "graph: assert \"% %%\" has 0 arguments"},
    };
    Parts good = make_parts();
    Diags *diags = diags_create();
    assert_true(graph_verify(good.g, diags));
    diags_destroy(diags);
    graph_destroy(good.g);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Parts parts = make_parts();
        cases[i].plant(&parts);
        assert_refused(parts.g, cases[i].error);
        graph_destroy(parts.g);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_violations)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
