// Text of a lowered program: the plan's text, the kernels, then
//
//     program {
//         run {
//             step k0 {
//                 alternative {
//                     dispatch k0 grid N * 3, 1, 1 barrier flops N * 705600 bytes N * 7840 {
//                         buffer x.2 read arena 0 at 0 bytes N * 4704
//                         scalar N
//                     }
//                 }
//             }
//         }
//         prepare { ... }
//     }
//
// Steps are those of the plan in its order, without repeats. A buffer that is workspace has the
// name `workspace`.
#include "ir/program.h"

#include <string.h>

#include "ir/plan_names.h"
#include "ir/text_scan.h"

static void put_dim(const Program *program, const char *before, Dim dim, Text *out) {
    text_put(out, before);
    dim_print(program->plan->graph->dims, dim, out);
}

static void put_arg(const Program *program, const DispatchArg *arg, Text *out) {
    text_put(out, "                    ");
    if (!arg->is_buffer) {
        put_dim(program, "scalar ", arg->scalar, out);
        text_put(out, "\n");
        return;
    }
    text_put(out, "buffer ");
    if (arg->value)
        plan_print_value(program->plan->graph, arg->value, out);
    else
        text_put(out, "workspace");
    text_printf(out, "%s%s %s %u", arg->read ? " read" : "", arg->write ? " write" : "",
                buffer_kind_name(arg->kind), arg->index);
    put_dim(program, " at ", arg->offset, out);
    put_dim(program, " bytes ", arg->bytes, out);
    text_put(out, "\n");
}

static void put_dispatch(const Program *program, const Dispatch *dispatch, Text *out) {
    text_printf(out, "                dispatch %s", program->kernels.at[dispatch->kernel]->name);
    for (unsigned i = 0; i < 3; i++) put_dim(program, i ? ", " : " grid ", dispatch->grid[i], out);
    if (dispatch->barrier) text_put(out, " barrier");
    put_dim(program, " flops ", dispatch->flops, out);
    put_dim(program, " bytes ", dispatch->bytes, out);
    text_put(out, " {\n");
    for (uint32_t i = 0; i < dispatch->args; i++) put_arg(program, &dispatch->arg[i], out);
    text_put(out, "                }\n");
}

static void put_steps(const Program *program, const PlanStep *steps, const LoweredStep *lowered,
                      uint32_t count, Text *out) {
    for (uint32_t i = 0; i < count; i++) {
        if (lowered[i].alternatives.len == 0) continue;
        text_printf(out, "        step %s {\n",
                    graph_node(program->plan->graph, steps[i].node)->name);
        for (uint32_t a = 0; a < lowered[i].alternatives.len; a++) {
            const LoweredAlternative *one = &lowered[i].alternatives.at[a];
            text_put(out, "            alternative {\n");
            for (uint32_t d = 0; d < one->count; d++)
                put_dispatch(program, &program->dispatches.at[one->first + d], out);
            text_put(out, "            }\n");
        }
        text_put(out, "        }\n");
    }
}

void program_print(const Program *program, Text *out) {
    const Plan *plan = program->plan;
    plan_print_as(plan, "adept 1 kernels", out);
    for (uint32_t i = 0; i < program->kernels.len; i++) kernel_print(program->kernels.at[i], out);
    text_put(out, "program {\n    run {\n");
    put_steps(program, plan->run.at, program->run.at, plan->run.len, out);
    text_put(out, "    }\n");
    if (plan->prepare.len) {
        text_put(out, "    prepare {\n");
        put_steps(program, plan->prepare.at, program->prepare.at, plan->prepare.len, out);
        text_put(out, "    }\n");
    }
    text_put(out, "}\n");
}

// ---- parsing ----

static DispatchArg get_arg(Scan *s, const Program *program) {
    DispatchArg arg = {0};
    if (scan_take(s, "scalar")) {
        arg.scalar = scan_dim(s);
        return arg;
    }
    scan_expect(s, "buffer");
    arg.is_buffer = true;
    const char *name = scan_word(s);
    arg.value = s->failed ? 0 : plan_value_from_name(program->plan->graph, name);
    if (!arg.value && strcmp(name, "workspace") != 0) scan_fail(s, "there is no value `%s`", name);
    arg.read = scan_take(s, "read"), arg.write = scan_take(s, "write");
    const char *kind = scan_word(s);
    if (!s->failed && !buffer_kind_from_name(kind, &arg.kind))
        scan_fail(s, "there is no memory `%s`", kind);
    arg.index = (uint32_t)scan_int(s);
    scan_expect(s, "at");
    arg.offset = scan_dim(s);
    scan_expect(s, "bytes");
    arg.bytes = scan_dim(s);
    return arg;
}

static void get_dispatch(Scan *s, Program *program, NodeId node) {
    Dispatch dispatch = {.node = node, .kernel = UINT32_MAX};
    const char *name = scan_word(s);
    for (uint32_t i = 0; !s->failed && i < program->kernels.len; i++)
        if (strcmp(program->kernels.at[i]->name, name) == 0) dispatch.kernel = i;
    if (dispatch.kernel == UINT32_MAX) scan_fail(s, "there is no kernel `%s`", name);
    for (unsigned i = 0; i < 3; i++) {
        scan_expect(s, i ? "," : "grid");
        dispatch.grid[i] = scan_dim(s);
    }
    dispatch.barrier = scan_take(s, "barrier");
    scan_expect(s, "flops");
    dispatch.flops = scan_dim(s);
    scan_expect(s, "bytes");
    dispatch.bytes = scan_dim(s);
    scan_expect(s, "{");
    VEC(DispatchArg) args = {0};
    while (!s->failed && !scan_take(s, "}")) vec_push(s->arena, &args, get_arg(s, program));
    dispatch.arg = args.at, dispatch.args = args.len;
    if (!s->failed) vec_push(s->arena, &program->dispatches, dispatch);
}

typedef VEC(LoweredStep) LoweredList;

static void get_steps(Scan *s, Program *program, const PlanStep *steps, uint32_t count,
                      LoweredList *out) {
    const Graph *g = program->plan->graph;
    scan_expect(s, "{");
    for (uint32_t i = 0; i < count && !s->failed; i++) {
        LoweredStep lowered = {0};
        NodeId node = steps[i].node;
        if (node && graph_node(g, node)->kind == NODE_FUSED) {
            scan_expect(s, "step");
            scan_expect(s, graph_node(g, node)->name);
            scan_expect(s, "{");
            while (!s->failed && !scan_take(s, "}")) {
                LoweredAlternative one = {.first = program->dispatches.len};
                scan_expect(s, "alternative");
                scan_expect(s, "{");
                while (!s->failed && !scan_take(s, "}")) {
                    scan_expect(s, "dispatch");
                    get_dispatch(s, program, node);
                }
                one.count = program->dispatches.len - one.first;
                vec_push(s->arena, &lowered.alternatives, one);
            }
            if (lowered.alternatives.len != steps[i].alternatives.len)
                scan_fail(s, "step %s has other alternatives than in the plan",
                          graph_node(g, node)->name);
        }
        vec_push(s->arena, out, lowered);
    }
    scan_expect(s, "}");
}

Program *program_parse(Plan *plan, const char *text, size_t length, FileId file, Diags *diags) {
    Graph *g = plan->graph;
    Program *program = arena_alloc(g->arena, sizeof *program);
    program->plan = plan;
    Scan s = scan_section(g->arena, g->dims, diags, file, text, length, "plan {");
    scan_skip_block(&s);
    while (!s.failed && !scan_take(&s, "program")) {
        size_t at = s.at;
        Kernel *kernel = kernel_parse(g->arena, text, length, &at, file, diags);
        if (!kernel) return NULL;
        scan_move(&s, at);
        vec_push(g->arena, &program->kernels, kernel);
    }
    LoweredList run = {0}, prepare = {0};
    scan_expect(&s, "{");
    scan_expect(&s, "run");
    get_steps(&s, program, plan->run.at, plan->run.len, &run);
    if (scan_take(&s, "prepare"))
        get_steps(&s, program, plan->prepare.at, plan->prepare.len, &prepare);
    scan_expect(&s, "}");
    if (!s.failed && prepare.len != plan->prepare.len) scan_fail(&s, "`prepare` is missing");
    if (s.failed) return NULL;
    program->run.at = run.at, program->run.len = run.len, program->run.cap = run.cap;
    program->prepare.at = prepare.at, program->prepare.len = prepare.len;
    program->prepare.cap = prepare.cap;
    return program;
}
