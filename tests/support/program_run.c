#include "tests/support/program_run.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codegen/spirv.h"
#include "ir/eval.h"
#include "ir/kernel_interp.h"
#include "ir/number.h"
#include "frontend/load.h"
#include "passes/compile.h"

enum { RUN_BUFFERS = BUF_RAW + 1, RUN_INDEX_MAX = 64 };

typedef struct Block {
    uint8_t *data, *written;
    int64_t size;
} Block;

typedef struct Run {
    const Program *program;
    const Plan *plan;
    Graph *g;
    const ProgramCheck *check;
    bool found; // the planted fault
    int64_t symbols[64];
    Block block[RUN_BUFFERS][RUN_INDEX_MAX];
} Run;

static unsigned symbol_number(const Graph *g, Dim symbol) {
    return (unsigned)__builtin_ctzll(dim_symbols(g->dims, symbol));
}

// Repeats around a declared value, outermost first.
static unsigned value_repeats(const Graph *g, ValueId value, const Node **repeat) {
    unsigned count = 0;
    RegionId region = graph_node(g, graph_value(g, value)->node)->region;
    for (NodeId owner; (owner = g->regions.at[region].owner) != 0;) {
        repeat[count++] = graph_node(g, owner);
        region = graph_node(g, owner)->region;
    }
    return count;
}

double program_sample(const Graph *g, ValueId value, const int64_t *symbols, int64_t element,
                      double scale) {
    const Node *repeat[8];
    unsigned count = value_repeats(g, value, repeat);
    uint64_t key[10] = {value, (uint64_t)element};
    for (unsigned i = 0; i < count; i++)
        key[2 + i] = (uint64_t)symbols[symbol_number(g, repeat[i]->trip)] + 1;
    uint64_t hash = hash_bytes(7, key, (2 + count) * sizeof *key);
    hash ^= hash >> 31, hash *= 0x9e3779b97f4a7c15u, hash ^= hash >> 29;
    DType dtype = graph_value(g, value)->type.dtype;
    if (dtype == DT_BOOL) return (double)(hash & 1);
    if (dtype_is_int(dtype)) {
        int64_t small = (int64_t)(hash % 41) - (dtype_is_signed(dtype) ? 20 : 0);
        return (double)small;
    }
    double unit = (double)(hash >> 11) * 0x1p-53;
    return number_cast(dtype, (2 * unit - 1) * (scale ? scale : 2));
}

static double run_sample(const Run *run, ValueId value, const int64_t *symbols, int64_t element) {
    const Value *v = graph_value(run->g, value);
    if (!run->check->bound)
        return program_sample(run->g, value, symbols, element, run->check->scale);
    return device_sample(v->name, v->type.dtype, run->check->seed, element);
}

static int64_t run_eval(const Run *run, Dim dim) {
    int64_t value = 0;
    assert_true(dim_eval(run->g->dims, dim, run->symbols, &value));
    return value;
}

static int64_t run_elements(const Run *run, ValueId value) {
    return run_eval(run, type_elements(run->g->dims, &graph_value(run->g, value)->type));
}

static Block block_make(int64_t size) {
    assert_true(size >= 0 && size < 1 << 28);
    Block block = {.size = size};
    block.data = memory_or_exit(calloc(1, (size_t)size + 256));
    block.written = memory_or_exit(calloc(1, (size_t)size / 8 + 256));
    memset(block.data, 0xcd, (size_t)size);
    return block;
}

static void run_fill(Run *run, ValueId value, unsigned depth, const Node **repeat, unsigned count) {
    if (depth < count) {
        const Node *node = repeat[count - 1 - depth];
        for (int64_t i = node->lo; i < node->hi; i++) {
            run->symbols[symbol_number(run->g, node->trip)] = i;
            run_fill(run, value, depth + 1, repeat, count);
        }
        return;
    }
    const Placement *place = plan_placement(run->plan, value);
    if (!place) return;
    const Node *node = graph_node(run->g, graph_value(run->g, value)->node);
    Block *block = &run->block[place->kind][place->index];
    DType dtype = graph_value(run->g, value)->type.dtype;
    int64_t at = run_eval(run, place->offset), elements = run_elements(run, value);
    for (int64_t i = 0; i < elements; i++) {
        double number = node->op == OP_STATE   ? node->decl->fill
                        : node->op == OP_CONST ? node->decl->const_data[i]
                                               : run_sample(run, value, run->symbols, i);
        uint8_t *byte = block->data + at + i * dtype_bytes(dtype);
        number_store(dtype, number, byte);
        for (unsigned b = 0; b < dtype_bytes(dtype); b++) {
            uint64_t bit = (uint64_t)(at + i * dtype_bytes(dtype) + b);
            block->written[bit / 8] |= (uint8_t)(1u << bit % 8);
        }
    }
}

static void run_blocks(Run *run) {
    const Plan *plan = run->plan;
    Dim sizes[RUN_BUFFERS] = {[BUF_PARAM] = plan->param_bytes,
                              [BUF_STATE] = plan->state_bytes,
                              [BUF_CONST] = plan->const_bytes,
                              [BUF_ARENA] = plan->arena_bytes,
                              [BUF_RAW] = plan->raw_bytes};
    for (unsigned kind = BUF_PARAM; kind < RUN_BUFFERS; kind++)
        run->block[kind][0] = block_make(run_eval(run, sizes[kind]));
    for (uint32_t i = 0; i < plan->placements.len; i++) {
        const Placement *place = &plan->placements.at[i];
        if (place->kind != BUF_INPUT && place->kind != BUF_OUTPUT) continue;
        assert_true(place->index < RUN_INDEX_MAX);
        run->block[place->kind][place->index] = block_make(run_eval(run, place->bytes));
    }
    for (NodeId id = 1; id < run->g->nodes.len; id++) {
        const Node *node = graph_node(run->g, id), *repeat[8];
        if (node->kind != NODE_OP || !node->results) continue;
        OpId op = node->op;
        if (op != OP_INPUT && op != OP_PARAM && op != OP_CONST && op != OP_STATE) continue;
        unsigned count = value_repeats(run->g, node->result[0], repeat);
        run_fill(run, node->result[0], 0, repeat, count);
    }
}

// A fault fails the test, but for the one that was planted.
static void run_faults(Run *run, const Kernel *kernel, const KMachine *machine) {
    for (uint32_t i = 0; i < kmachine_fault_count(machine); i++) {
        const char *message = kmachine_fault(machine, i)->message;
        if (run->check->finds) {
            run->found = run->found || strstr(message, run->check->finds);
            continue;
        }
        Text text = {0};
        kernel_print(kernel, &text);
        fail_msg("%s\n%s", message, text.data);
    }
}

static void run_dispatch(Run *run, const Dispatch *dispatch) {
    const Kernel *kernel = run->program->kernels.at[dispatch->kernel];
    KArg *args = memory_or_exit(calloc(dispatch->args + 1, sizeof *args));
    assert_int_equal(dispatch->args, kernel->params.len);
    for (uint32_t i = 0; i < dispatch->args; i++) {
        const DispatchArg *arg = &dispatch->arg[i];
        if (!arg->is_buffer) {
            args[i].scalar = run_eval(run, arg->scalar);
            continue;
        }
        Block *block = &run->block[arg->kind][arg->index];
        int64_t at = run_eval(run, arg->offset), bytes = run_eval(run, arg->bytes);
        assert_true(at >= 0 && at % 8 == 0 && at + bytes <= block->size);
        args[i].buffer = (KBuffer){block->data + at, (uint64_t)bytes, block->written + at / 8};
    }
    KLaunch launch = {.kernel = kernel, .args = args, .subgroup_size = 8};
    if (run->plan->target.subgroup_size) launch.subgroup_size = run->plan->target.subgroup_size;
    bool any = true;
    for (unsigned i = 0; i < 3; i++) {
        int64_t groups = run_eval(run, dispatch->grid[i]);
        assert_true(groups >= 0 && groups <= run->plan->target.max_grid[i]);
        launch.groups[i] = (uint32_t)groups;
        any = any && groups > 0;
    }
    if (any) {
        KMachine *machine = kmachine_create(&launch);
        kmachine_run(machine);
        run_faults(run, kernel, machine);
        kmachine_destroy(machine);
    }
    free(args);
}

// The first alternative whose conditions hold; what it needs of the device the target has.
static uint32_t run_alternative(const Run *run, const PlanStep *step) {
    for (uint32_t a = 0; a < step->alternatives.len; a++) {
        const Alternative *alternative = &step->alternatives.at[a];
        bool holds = true;
        for (uint32_t i = 0; i < alternative->conditions; i++) {
            const Condition *c = &alternative->condition[i];
            int64_t left = run_eval(run, c->left), right = run_eval(run, c->right);
            bool is[] = {[DIM_EQ] = left == right,
                         [DIM_NE] = left != right,
                         [DIM_LT] = left<right, [DIM_LE] = left <= right, [DIM_GT] = left> right,
                         [DIM_GE] = left >= right};
            holds = holds && is[c->relation];
        }
        if (holds) return a;
    }
    fail_msg("no alternative holds");
    return 0;
}

static uint32_t run_steps(Run *run, const PlanStep *steps, const LoweredStep *lowered,
                          uint32_t count, uint32_t at) {
    for (; at < count && steps[at].node; at++) {
        const Node *node = graph_node(run->g, steps[at].node);
        if (node->kind == NODE_REPEAT) {
            uint32_t end = at + 1;
            for (int64_t i = node->lo; i < node->hi; i++) {
                run->symbols[symbol_number(run->g, node->trip)] = i;
                end = run_steps(run, steps, lowered, count, at + 1);
            }
            at = end;
            continue;
        }
        const LoweredAlternative *chosen =
            &lowered[at].alternatives.at[run_alternative(run, &steps[at])];
        for (uint32_t d = 0; d < chosen->count; d++)
            run_dispatch(run, &run->program->dispatches.at[chosen->first + d]);
    }
    return at;
}

typedef struct RunReference {
    Run *run;
    bool magnitudes; // of the numbers, for the sizes of sums
} RunReference;

// A declared value of the graph that is evaluated, as the program's graph has it.
static ValueId reference_twin(const Run *run, ValueId source) {
    if (!run->check->source) return source;
    const Value *value = graph_value(run->check->source, source);
    OpId op = graph_node(run->check->source, value->node)->op;
    for (ValueId twin = 1; twin < run->g->values.len; twin++) {
        const Node *node = graph_node(run->g, graph_value(run->g, twin)->node);
        const char *name = graph_value(run->g, twin)->name;
        if (node->kind == NODE_OP && node->op == op && name && strcmp(name, value->name) == 0)
            return twin;
    }
    fail_msg("%s is gone", value->name);
    return 0;
}

static bool reference_fetch(void *user, ValueId source, const int64_t *symbols, Tensor *out) {
    Run *run = ((RunReference *)user)->run;
    source = reference_twin(run, source);
    const Node *node = graph_node(run->g, graph_value(run->g, source)->node);
    for (int64_t i = 0; i < out->elements; i++)
        out->data[i] =
            node->op == OP_STATE ? node->decl->fill : run_sample(run, source, symbols, i);
    for (int64_t i = 0; ((RunReference *)user)->magnitudes && i < out->elements; i++)
        out->data[i] = fabs(out->data[i]);
    return true;
}

static void compare(const Run *run, const char *name, DType dtype, const uint8_t *data,
                    const uint8_t *written, int64_t at, const Tensor *expected,
                    const Tensor *sums) {
    for (int64_t i = 0; i < expected->elements; i++) {
        int64_t byte = at + i * dtype_bytes(dtype);
        double got = number_load(dtype, data + byte), want = expected->data[i];
        if (!(written[byte / 8] >> byte % 8 & 1))
            fail_msg("%s[%lld] not written", name, (long long)i);
        bool same = got == want || (isnan(got) && isnan(want));
        if (sums)
            same = bound_holds(run->check->bound, dtype, got, want, sums->data[i]);
        else if (!same && dtype_is_float(dtype))
            same = fabs(got - want) <= run->check->tolerance * (1 + fabs(want));
        if (same) continue;
        Text text = {0};
        for (uint32_t k = 0; k < run->program->kernels.len; k++)
            kernel_print(run->program->kernels.at[k], &text);
        fail_msg("%s[%lld]: got %.9g, expected %.9g\n%s", name, (long long)i, got, want, text.data);
    }
}

static void reference_store(void *user, ValueId source, const int64_t *symbols,
                            const Tensor *state) {
    Run *run = ((RunReference *)user)->run;
    source = reference_twin(run, source);
    const Placement *place = plan_placement(run->plan, source);
    int64_t at;
    assert_non_null(place);
    assert_true(dim_eval(run->g->dims, place->offset, symbols, &at));
    const Block *block = &run->block[BUF_STATE][0];
    compare(run, graph_value(run->g, source)->name, state->dtype, block->data, block->written, at,
            state, NULL);
}

// Units share the staging block: each gets its weights there just before it runs.
static void run_units(Run *run) {
    const Plan *plan = run->plan;
    for (uint32_t u = 0; u < plan->units.len; u++) {
        const PrepareUnit *unit = &plan->units.at[u];
        for (uint32_t i = 0; i < unit->params.len; i++) {
            const Node *repeat[8];
            unsigned count = value_repeats(run->g, unit->params.at[i], repeat);
            run_fill(run, unit->params.at[i], 0, repeat, count);
        }
        run_steps(run, plan->prepare.at, run->program->prepare.at, unit->first + unit->count,
                  unit->first);
    }
}

static Eval *run_reference(Run *run, bool magnitudes, RunReference *reference, Diags *diags) {
    *reference = (RunReference){run, magnitudes};
    EvalOptions options = {.symbols = run->check->symbols,
                           .fetch = reference_fetch,
                           .store = magnitudes ? NULL : reference_store,
                           .user = reference,
                           .strict_rounding = run->check->strict};
    const Graph *graph = run->check->source ? run->check->source : run->g;
    Eval *eval = eval_create(graph, &options, diags);
    if (!eval || !eval_run(eval)) {
        Text text = {0};
        diags_render(diags, &text);
        fail_msg("%s", text.data ? text.data : "no evaluation");
    }
    return eval;
}

static void run_compare(Run *run) {
    Diags *diags = diags_create();
    RunReference plain, sizes;
    Eval *eval = run_reference(run, false, &plain, diags);
    Eval *sums = run->check->bound ? run_reference(run, true, &sizes, diags) : NULL;
    for (uint32_t i = 0; i < run->g->outputs.len; i++) {
        const Tensor *expected = eval_output(eval, i);
        const Block *block = &run->block[BUF_OUTPUT][i];
        compare(run, run->g->outputs.at[i].name, expected->dtype, block->data, block->written, 0,
                expected, sums ? eval_output(sums, i) : NULL);
    }
    eval_destroy(eval);
    eval_destroy(sums);
    diags_destroy(diags);
}

static void check_diags(bool ok, const Diags *diags, const char *what) {
    if (ok) return;
    Text text = {0};
    diags_render(diags, &text);
    fail_msg("%s: %s", what, text.data ? text.data : "?");
}

// The text of a program reads back to the same text.
static void check_text(const Program *program) {
    Text first = {0}, second = {0};
    program_print(program, &first);
    Diags *diags = diags_create();
    FileId file = diags_add_file(diags, "dump", first.data, first.len);
    Graph *graph = NULL;
    check_diags(load_graph("dump", first.data, first.len, NULL, diags, &graph), diags, first.data);
    Plan *plan = plan_parse(graph, first.data, first.len, file, diags);
    check_diags(plan != NULL, diags, first.data);
    Program *again = program_parse(plan, first.data, first.len, file, diags);
    check_diags(again != NULL, diags, first.data);
    program_print(again, &second);
    assert_string_equal(first.data, second.data);
    check_diags(plan_verify(plan, diags), diags, "plan from text");
    check_diags(program_verify(again, diags), diags, "program from text");
    text_free(&first), text_free(&second);
    graph_destroy(graph);
    diags_destroy(diags);
}

static void plant_fault(Program *program, const ProgramCheck *check, Diags *diags) {
    Arena *arena = program->plan->graph->arena;
    for (uint32_t i = 0; i < program->kernels.len; i++) {
        Text text = {0}, changed = {0};
        kernel_print(program->kernels.at[i], &text);
        const char *rest = text.data;
        for (const char *next; (next = strstr(rest, check->plant[0])) != NULL;) {
            text_write(&changed, rest, (size_t)(next - rest));
            text_put(&changed, check->plant[1]);
            rest = next + strlen(check->plant[0]);
        }
        text_put(&changed, rest);
        size_t at = 0;
        FileId file = diags_add_file(diags, "planted", changed.data, changed.len);
        Kernel *kernel = kernel_parse(arena, changed.data, changed.len, &at, file, diags);
        check_diags(kernel != NULL, diags, "planted");
        program->kernels.at[i] = kernel;
        text_free(&text), text_free(&changed);
    }
}

const Program *program_check(Graph *graph, const ProgramCheck *check) {
    Target target;
    assert_true(target_builtin(check->target, &target));
    Diags *diags = diags_create();
    CompileOptions options = {.strict_rounding = check->strict, .max_workspace = 1 << 24};
    Plan *plan;
    Program *program;
    const char *form = check->force && check->force->form ? check->force->form : "";
    bool planes = strcmp(form, "planes") == 0 || strcmp(form, "halves") == 0;
    bool parts = strcmp(form, "split") == 0;
    bool split = planes || parts || (check->force && check->force->split_k > 1); // workspace
    if (split) options.schedule = check->force, options.family = parts ? "attention" : "contract";
    check_diags(plan_build(graph, &target, &options, diags, &plan), diags, "plan");
    if (check->force && !split) { // in place of the one without a guard
        PlanStep *step = &plan->run.at[0];
        step->alternatives.at[0] = step->alternatives.at[step->alternatives.len - 1];
        step->alternatives.at[0].schedule = *check->force;
        step->alternatives.len = 1;
    }
    check_diags(lower_program(plan, diags, &program), diags, "lower");
    check_diags(plan_verify(plan, diags), diags, "plan");
    check_diags(program_verify(program, diags), diags, "program");
    check_text(program);
    if (check->finds) plant_fault(program, check, diags);
    Run *run = memory_or_exit(calloc(1, sizeof *run));
    *run = (Run){.program = program, .plan = plan, .g = graph, .check = check};
    memcpy(run->symbols, check->symbols, dim_symbol_count(graph->dims) * sizeof *run->symbols);
    run_blocks(run);
    run_units(run);
    for (uint32_t at = 0; at < plan->run.len;)
        at = run_steps(run, plan->run.at, program->run.at, plan->run.len, at) + 1;
    if (!check->finds)
        run_compare(run);
    else if (!run->found)
        fail_msg("the planted fault was not found: %s", check->finds);
    for (unsigned kind = 0; kind < RUN_BUFFERS; kind++)
        for (unsigned i = 0; i < RUN_INDEX_MAX; i++)
            free(run->block[kind][i].data), free(run->block[kind][i].written);
    free(run);
    diags_destroy(diags);
    return program;
}

void program_emit_all(const Program *program) {
    for (uint32_t i = 0; i < program->kernels.len; i++) {
        SpirvModuleInfo module =
            spirv_emit(program->plan->graph->arena, program->kernels.at[i], &(SpirvOptions){0});
        assert_true(module.count > 100);
    }
}
