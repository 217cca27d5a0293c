// Plans of whole models: memory, barriers, prepare, repeats; and the faults that verifiers find.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "passes/compile.h"
#include "passes/pass.h"
#include "passes/plan_internal.h"
#include "tests/support/pass_run.h"
#include "tests/support/program_run.h"

static Graph *load(const char *text) {
    return pass_run_target(pass_load(text), "portable");
}

static Plan *plan_of(Graph *graph) {
    Target target;
    assert_true(target_builtin("portable", &target));
    Diags *diags = diags_create();
    CompileOptions options = {0};
    Plan *plan = NULL;
    assert_true(plan_build(graph, &target, &options, diags, &plan));
    assert_true(plan_verify(plan, diags));
    diags_destroy(diags);
    return plan;
}

static void check(Graph *graph, int64_t n, double tolerance) {
    int64_t symbols[64] = {n};
    ProgramCheck options = {
        .target = "portable", .symbols = symbols, .tolerance = tolerance, .scale = 1};
    program_check(graph, &options);
    options.target = "h200";
    program_check(graph, &options);
}

static const char stack[] = "adept 1\n"
                            "model stack {\n"
                            "    dim N in 1..=64\n"
                            "    input x : [N, 16] f32\n"
                            "    h = x\n"
                            "    g = x * 2\n"
                            "    repeat i in 0..5 {\n"
                            "        param w : [16, 16] f32 from \"/layers.{i}.w\"\n"
                            "        param b : [16] f32 from \"/layers.{i}.b\"\n"
                            "        u = tanh(linear(h, w, b))\n"
                            "        g = softmax(linear(g, w)) + u\n"
                            "        h = u + h\n"
                            "    }\n"
                            "    output y : [N, 16] f32 = h * 2 + g\n"
                            "    output z : [N, 16] f32 = g\n"
                            "}\n";

static void repeats(void **state) {
    (void)state;
    Graph *graph = load(stack);
    check(graph, 1, 1e-5);
    check(graph, 7, 1e-5);
    check(graph, 64, 1e-5);
    // One set of kernels for all trips.
    Plan *plan = plan_of(graph);
    Diags *diags = diags_create();
    Program *program;
    assert_true(lower_program(plan, diags, &program));
    assert_true(program->kernels.len <= plan->run.len);
    diags_destroy(diags);
    graph_destroy(graph);
}

// What a repeat starts from is still wanted inside and after it, and once more as an output.
static void start_of_a_repeat_is_kept(void **state) {
    (void)state;
    Graph *graph = load("adept 1\n"
                        "model m {\n"
                        "    dim N in 1..=64\n"
                        "    input x : [N, 16] f32\n"
                        "    a = exp(x)\n"
                        "    h = a\n"
                        "    g = a\n"
                        "    repeat i in 0..3 {\n"
                        "        h = sin(h) + a\n"
                        "        g = g * 0.5\n"
                        "    }\n"
                        "    output y : [N, 16] f32 = h + a * g\n"
                        "    output z : [N, 16] f32 = a\n"
                        "}\n");
    check(graph, 3, 1e-5);
    graph_destroy(graph);
}

static void states(void **state) {
    (void)state;
    Graph *graph = load("adept 1\n"
                        "model counter {\n"
                        "    dim N in 1..=8\n"
                        "    input x : [N, 4] f32\n"
                        "    state total : [8, 4] f32 = 1\n"
                        "    old = total[0:N, :]\n"
                        "    total[0:N, :] = old + x\n"
                        "    output y : [8, 4] f32 = total * 3\n"
                        "}\n");
    check(graph, 3, 1e-6);
    check(graph, 8, 1e-6);
    graph_destroy(graph);
}

// Weights that are computed with go to `prepare`, in units that do not depend on each other.
static void prepare(void **state) {
    (void)state;
    Graph *graph = load("adept 1\n"
                        "model m {\n"
                        "    dim N in 1..=32\n"
                        "    input x : [N, 8] f32\n"
                        "    param a : [8, 8] f32\n"
                        "    param b : [8, 8] f32\n"
                        "    param c : [8] f32\n"
                        "    s = exp(a) * b\n"
                        "    t = tanh(c) + sum(s, axis=0)\n"
                        "    v = x * 2\n"
                        "    repeat i in 0..3 {\n"
                        "        param d : [8] f32 from \"/d.{i}\"\n"
                        "        v = v * exp(d)\n"
                        "    }\n"
                        "    output y : [N, 8] f32 = linear(v, s) + t\n"
                        "}\n");
    check(graph, 5, 1e-5);
    Plan *plan = plan_of(graph);
    assert_int_equal(plan->units.len, 2); // a, b and c meet; d alone
    int64_t raw, params;
    assert_true(dim_is_const(graph->dims, plan->raw_bytes, &raw));
    assert_true(dim_is_const(graph->dims, plan->param_bytes, &params));
    assert_true(raw >= 2 * 256 + 256 && params >= 256 + 256 + 3 * 256);
    graph_destroy(graph);
}

static const char chain[] = "adept 1\n"
                            "block L(x: [..., 96] f32) -> [..., 96] f32 {\n"
                            "    param w : [96, 96] f32\n"
                            "    return tanh(linear(x, w))\n"
                            "}\n"
                            "block W(x: [..., 96] f32) -> [..., 320] f32 {\n"
                            "    param w : [320, 96] f32\n"
                            "    return tanh(linear(x, w))\n"
                            "}\n"
                            "block V(x: [..., 320] f32) -> [..., 96] f32 {\n"
                            "    param w : [96, 320] f32\n"
                            "    return tanh(linear(x, w))\n"
                            "}\n"
                            "model m {\n"
                            "    dim N in 1..=100\n"
                            "    input x : [N, 96] f32\n"
                            "    a = L(x) at \"a\"\n"
                            "    b = W(a) at \"b\"\n"
                            "    c = V(b) at \"c\"\n"
                            "    d = L(c + a) at \"d\"\n"
                            "    e = W(d) at \"e\"\n"
                            "    f = V(e) at \"f\"\n"
                            "    g = L(f + a) at \"g\"\n"
                            "    h = W(g + d) at \"h\"\n"
                            "    output y : [N, 96] f32 = V(h) at \"i\"\n"
                            "}\n";

static void arena_is_near_the_bound(void **state) {
    (void)state;
    static const char *const models[] = {stack, chain};
    for (unsigned m = 0; m < 2; m++) {
        Graph *graph = load(models[m]);
        Plan *plan = plan_of(graph);
        for (int64_t n = 1; n <= 64; n = 2 * n + 1) {
            int64_t symbols[64] = {n}, bound, size;
            assert_true(plan_liveness_bound(plan, symbols, &bound));
            assert_true(dim_eval(graph->dims, plan->arena_bytes, symbols, &size));
            assert_true(bound > 0 && size >= bound);
            // Offsets are multiples of 256, which counts while tensors are small.
            if (size > bound * 11 / 10 + 8 * 256)
                fail_msg("%lld bytes for a bound of %lld", (long long)size, (long long)bound);
        }
        graph_destroy(graph);
    }
}

static void check_found(const Plan *plan, const char *message) {
    Diags *diags = diags_create();
    assert_false(plan_verify(plan, diags));
    Text text = {0};
    diags_render(diags, &text);
    if (!strstr(text.data, message)) fail_msg("%s", text.data);
    text_free(&text);
    diags_destroy(diags);
}

static void planted_faults(void **state) {
    (void)state;
    static const char *const models[] = {stack, chain};
    for (unsigned m = 0; m < 2; m++) {
        Graph *graph = load(models[m]);
        Plan *plan = plan_of(graph);
        unsigned barriers = 0;
        for (uint32_t i = 0; i < plan->run.len; i++) { // every barrier is needed
            if (!plan->run.at[i].barrier) continue;
            plan->run.at[i].barrier = false;
            check_found(plan, "without a barrier");
            plan->run.at[i].barrier = true;
            barriers++;
        }
        assert_true(barriers >= 3);
        for (uint32_t i = 0; i < plan->placements.len; i++) { // two tensors on one place
            Placement *place = &plan->placements.at[i];
            if (place->kind != BUF_ARENA || dim_is(graph->dims, place->offset, 0)) continue;
            Dim old = place->offset;
            place->offset = dim_const(graph->dims, 0);
            if (m == 1) check_found(plan, "overlap while both live");
            place->offset = old;
            break;
        }
        PlanStep first = plan->run.at[m ? 0 : 2]; // two steps in the other order
        plan->run.at[m ? 0 : 2] = plan->run.at[m ? 1 : 3];
        plan->run.at[m ? 1 : 3] = first;
        check_found(plan, "order of the graph");
        plan->run.at[m ? 1 : 3] = plan->run.at[m ? 0 : 2];
        plan->run.at[m ? 0 : 2] = first;
        PlanStep *last = &plan->run.at[plan->run.len - 1];
        last->alternatives.at[last->alternatives.len - 1].features = TF_SPIRV16;
        check_found(plan, "has a guard");
        graph_destroy(graph);
    }
}

static void planted_program_faults(void **state) {
    (void)state;
    Graph *graph = load(chain);
    Plan *plan = plan_of(graph);
    Diags *diags = diags_create();
    Program *program;
    assert_true(lower_program(plan, diags, &program));
    assert_true(program_verify(program, diags));
    for (uint32_t i = 1; i < program->dispatches.len; i++) {
        Dispatch *dispatch = &program->dispatches.at[i];
        if (!dispatch->barrier) continue;
        dispatch->barrier = false;
        assert_false(program_verify(program, diags));
        dispatch->barrier = true;
    }
    Dispatch *first = &program->dispatches.at[0];
    first->args--;
    assert_false(program_verify(program, diags));
    first->args++;
    Dim old = first->grid[0];
    first->grid[0] = dim_const(graph->dims, 70000);
    assert_false(program_verify(program, diags));
    first->grid[0] = old;
    assert_true(program_verify(program, diags));
    diags_destroy(diags);
    graph_destroy(graph);
}

// Mistakes in the text of a plan are diagnostics with their place.
static void mistakes_in_text(void **state) {
    (void)state;
    static const struct {
        const char *from, *to, *message;
    } edits[] = {
        {"plan {", "plam {", "no section"},
        {"place a = arena", "place aa = arena", "no value `aa`"},
        {"= arena 0", "= heap 0", "no memory `heap`"},
        {"bytes N", "bytes M", "no dim `M`"},
        {"bytes N", "bytes N N", "expected"},
        {"step k0", "step q0", "no group `q0`"},
        {"tile_m=", "tile_q=", "no `tile_q`"},
        {"tile_m=", "tile_m=x", "cannot be"},
        {"shared_bytes", "shared", "unknown key"},
        {"memory arena", "memory", "expected `arena`"},
    };
    Graph *graph = load(chain);
    Plan *plan = plan_of(graph);
    Text text = {0};
    plan_print(plan, &text);
    for (unsigned i = 0; i < sizeof edits / sizeof edits[0]; i++) {
        Text edited = {0}, rendered = {0};
        const char *plan_text = strstr(text.data, "\nplan {");
        const char *at = strstr(plan_text, edits[i].from);
        assert_non_null(at);
        text_write(&edited, text.data, (size_t)(at - text.data));
        text_put(&edited, edits[i].to);
        text_put(&edited, at + strlen(edits[i].from));
        Diags *diags = diags_create();
        assert_null(plan_parse(graph, edited.data, edited.len, 0, diags));
        assert_int_equal(diags_error_count(diags), 1);
        diags_render(diags, &rendered);
        if (!strstr(rendered.data, edits[i].message))
            fail_msg("%s: expected %s", rendered.data, edits[i].message);
        text_free(&edited), text_free(&rendered);
        diags_destroy(diags);
    }
    // Cut off anywhere, it is refused, not misread.
    const char *plan_text = strstr(text.data, "\nplan {");
    for (size_t length = (size_t)(plan_text - text.data); length + 3 < text.len; length += 7) {
        Diags *diags = diags_create();
        assert_null(plan_parse(graph, text.data, length, 0, diags));
        diags_destroy(diags);
    }
    text_free(&text);
    graph_destroy(graph);
}

// Whatever stands in an edited plan: a diagnostic or a program that verifies.
static void odd_schedules(void **state) {
    (void)state;
    static const char *const schedules[] = {
        "local=0",
        "local=100000",
        "local=64, vec=3",
        "local=64, vec=4, items=100",
        "form=simt, local=64, tile_m=2048, tile_n=2, tile_k=1, reg_m=1, reg_n=1",
        "form=simt, local=1, tile_m=1, tile_n=1, tile_k=1, reg_m=1, reg_n=1",
        "form=simt, local=7, tile_m=7, tile_n=3, tile_k=3, reg_m=1, reg_n=3, vec=4",
        "form=simt, local=256, tile_m=16, tile_n=16, tile_k=1, reg_m=1, reg_n=1, unroll=64",
        "form=simt, local=64, tile_m=8, tile_n=8, tile_k=16, reg_m=1, reg_n=1, subgroup=32",
        "form=simt, local=33, tile_m=33, tile_n=5, tile_k=7, reg_m=1, reg_n=5, subgroup=32",
        "lanes=4, local=8, rows=2, keep=1, items=64",
        "lanes=3, local=6, rows=2",
        "lanes=256, local=256, rows=1, vec=2, keep=2",
    };
    Graph *graph = load(stack);
    unsigned lowered = 0;
    for (unsigned i = 0; i < sizeof schedules / sizeof schedules[0]; i++)
        for (uint32_t step = 0; step < plan_of(graph)->run.len; step++) {
            Plan *plan = plan_of(graph);
            if (plan->run.at[step].alternatives.len == 0) continue;
            Diags *diags = diags_create();
            Text error = {0};
            Program *program;
            Alternative *first = &plan->run.at[step].alternatives.at[0];
            assert_true(schedule_parse(schedules[i], graph->arena, &first->schedule, &error));
            if (lower_program(plan, diags, &program)) {
                assert_true(program_verify(program, diags));
                lowered++;
            } else {
                assert_int_equal(diags_error_count(diags), 1);
            }
            diags_destroy(diags);
        }
    assert_true(lowered >= 4);
    graph_destroy(graph);
}

static uint64_t noise(uint64_t *seed) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 33;
}

// A text with a few words exchanged, dropped or made other numbers.
static void mutate(const char *text, uint64_t *seed, Text *out) {
    static const char *const words[] = {
        "0", "7",   "-1",   "N", "i", "9223372036854775807", "{", "}", "place", "arena", "barrier",
        "(", "* N", "// 0", "%", "\""};
    size_t section = (size_t)(strstr(text, "\nplan {") - text), length = strlen(text);
    unsigned changes = 1 + noise(seed) % 3;
    size_t at = 0;
    for (unsigned i = 0; i < changes; i++) {
        size_t from = section + noise(seed) % (length - section);
        while (from > section && text[from - 1] != ' ' && text[from - 1] != '=') from--;
        size_t to = from;
        while (to < length && text[to] != ' ' && text[to] != ',' && text[to] != '\n') to++;
        if (from < at) continue;
        text_write(out, text + at, from - at);
        if (noise(seed) % 4) text_put(out, words[noise(seed) % (sizeof words / sizeof words[0])]);
        at = to;
    }
    text_put(out, text + at);
}

// Whatever a text holds: a diagnostic, or a plan or program that can be used.
static void mutated_texts(void **state) {
    (void)state;
    static const char *const models[] = {stack, chain};
    uint64_t seed = 1;
    unsigned plans = 0, programs = 0;
    for (unsigned m = 0; m < 2; m++) {
        Graph *graph = load(models[m]);
        Plan *plan = plan_of(graph);
        Diags *diags = diags_create();
        Program *program;
        Text text = {0};
        assert_true(lower_program(plan, diags, &program));
        program_print(program, &text);
        diags_destroy(diags);
        for (unsigned i = 0; i < 400; i++) {
            Text mutated = {0};
            mutate(text.data, &seed, &mutated);
            diags = diags_create();
            Plan *read = plan_parse(graph, mutated.data, mutated.len, 0, diags);
            if (read && plan_verify(read, diags)) {
                plans += lower_program(read, diags, &program) && program_verify(program, diags);
                program = program_parse(read, mutated.data, mutated.len, 0, diags);
                programs += program && program_verify(program, diags);
            } else {
                assert_true(diags_error_count(diags) > 0);
            }
            diags_destroy(diags);
            text_free(&mutated);
        }
        text_free(&text);
        graph_destroy(graph);
    }
    assert_true(plans > 20 && programs > 5);
}

static void schedules_as_text(void **state) {
    (void)state;
    Arena *arena = arena_create();
    Schedule schedule;
    Text text = {0}, error = {0};
    const char *all = "form=simt, local=64, tile_m=32, tile_k=5, keep=1";
    assert_true(schedule_parse(all, arena, &schedule, &error));
    assert_int_equal(schedule.tile_k, 5);
    schedule_print(&schedule, &text);
    assert_string_equal(text.data, all);
    assert_false(schedule_parse("local", arena, &schedule, &error));
    assert_false(schedule_parse("local=99999999", arena, &schedule, &error));
    text_free(&text), text_free(&error);
    arena_destroy(arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(repeats),
        cmocka_unit_test(start_of_a_repeat_is_kept),
        cmocka_unit_test(states),
        cmocka_unit_test(prepare),
        cmocka_unit_test(arena_is_near_the_bound),
        cmocka_unit_test(planted_faults),
        cmocka_unit_test(planted_program_faults),
        cmocka_unit_test(mistakes_in_text),
        cmocka_unit_test(odd_schedules),
        cmocka_unit_test(mutated_texts),
        cmocka_unit_test(schedules_as_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
