// One kernel from opening to dispatch: parameters, grid, sharing of equal kernels.
#include "passes/lower.h"

#include <stdarg.h>
#include <string.h>

void lower_fail(Lower *l, const char *format, ...) {
    Text text = {0};
    va_list args;
    va_start(args, format);
    text_vprintf(&text, format, args);
    va_end(args);
    const Node *node = graph_node(l->graph, l->node);
    Span span = {0};
    if (node->locs) span.line = node->loc[0].line, span.column = node->loc[0].column;
    diag_error(l->diags, span, "%s: %s", node->name, text.data);
    text_free(&text);
    l->failed = true;
}

static Lower lower_open(Plan *plan, Program *program, Diags *diags, NodeId node, const char *name,
                        const Schedule *schedule) {
    Graph *graph = plan->graph;
    Lower l = {.arena = graph->arena,
               .graph = graph,
               .dims = graph->dims,
               .plan = plan,
               .program = program,
               .diags = diags,
               .node = node,
               .schedule = schedule};
    const Node *fused = graph_node(graph, node);
    l.b = k_begin(graph->arena, name, schedule->local ? schedule->local : 64);
    k_set_strict(l.b, plan->strict_rounding);
    if (schedule->subgroup) k_require_subgroup(l.b, schedule->subgroup);
    const Region *body = &graph->regions.at[fused->body];
    for (uint32_t i = 0; i < body->nodes.len; i++) {
        const Node *inner = graph_node(graph, body->nodes.at[i]);
        if (inner->inline_view) continue; // its position is no part of the graph's text
        if (inner->locs && !inner->loc[0].file) k_note_line(l.b, inner->loc[0].line);
    }
    return l;
}

Lower lower_begin(Plan *plan, Program *program, Diags *diags, NodeId node,
                  const Schedule *schedule) {
    return lower_open(plan, program, diags, node, graph_node(plan->graph, node)->name, schedule);
}

Lower lower_begin_next(const Lower *l, const char *what, const Schedule *schedule) {
    const char *name = arena_printf(l->arena, "%s.%s", graph_node(l->graph, l->node)->name, what);
    Lower next = lower_open(l->plan, l->program, l->diags, l->node, name, schedule);
    next.alternative = l->alternative;
    return next;
}

bool lower_is_inner(const Lower *l, ValueId value) {
    NodeId node = graph_value(l->graph, value)->node;
    return node && graph_node(l->graph, node)->region == graph_node(l->graph, l->node)->body &&
           !graph_node(l->graph, node)->inline_view;
}

static const char *lower_dim_name(Lower *l, Dim dim) {
    Text text = {0};
    dim_print(l->dims, dim, &text);
    bool plain = text.len > 0 && text.len <= 24;
    for (size_t i = 0; plain && i < text.len; i++) {
        char c = text.data[i];
        plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
                (i && c >= '0' && c <= '9');
    }
    const char *name = arena_strdup(l->arena, plain ? text.data : "size");
    text_free(&text);
    return name;
}

static KVal lower_scalar_parameter(Lower *l, Dim dim, bool wide) {
    for (uint32_t i = 0; i < l->scalars.len; i++)
        if (l->scalars.at[i].dim == dim && l->scalars.at[i].wide == wide)
            return l->scalars.at[i].value;
    DimBounds bounds = dim_bounds(l->dims, dim);
    int64_t multiple = dim_multiple(l->dims, dim);
    if (!wide) {
        if (bounds.hi > INT32_MAX) bounds.hi = INT32_MAX;
        if (bounds.lo < INT32_MIN) bounds.lo = INT32_MIN;
    }
    const char *name = lower_dim_name(l, dim);
    KVal value = wide ? k_param_i64(l->b, name, bounds.lo, bounds.hi, multiple)
                      : k_param_i32(l->b, name, bounds.lo, bounds.hi, multiple);
    vec_push(l->arena, &l->args, (DispatchArg){.scalar = dim});
    vec_push(l->arena, &l->scalars, (LowerScalar){dim, wide, value});
    return value;
}

KVal lower_dim(Lower *l, Dim dim) {
    int64_t value;
    if (dim_is_const(l->dims, dim, &value)) return k_i32(l->b, (int32_t)value);
    return lower_scalar_parameter(l, dim, false);
}

KVal lower_dim64(Lower *l, Dim dim) {
    int64_t value;
    if (dim_is_const(l->dims, dim, &value)) return k_i64(l->b, value);
    return lower_scalar_parameter(l, dim, true);
}

KVal lower_buffer(Lower *l, ValueId value, int access) {
    for (uint32_t i = 0; i < l->buffers.len; i++)
        if (l->buffers.at[i].value == value && l->buffers.at[i].access == access)
            return l->buffers.at[i].pointer;
    const Value *v = graph_value(l->graph, value);
    const Placement *place = plan_placement(l->plan, value);
    if (!place) {
        lower_fail(l, "%s has no place in memory", v->name);
        return k_param_buffer(l->b, v->name, DT_F32, access);
    }
    KVal pointer = k_param_buffer(l->b, v->name, v->type.dtype, access);
    DispatchArg arg = {.is_buffer = true,
                       .kind = place->kind,
                       .index = place->index,
                       .offset = place->offset,
                       .bytes = place->bytes,
                       .read = access == K_READ,
                       .write = access == K_WRITE,
                       .value = value};
    vec_push(l->arena, &l->args, arg);
    vec_push(l->arena, &l->buffers, (LowerBuffer){value, access, pointer});
    return pointer;
}

KVal lower_workspace_part(Lower *l, const char *name, DType dtype, Dim offset, Dim bytes,
                          int access) {
    KVal pointer = k_param_buffer(l->b, name, dtype, access);
    const Alternative *a = l->alternative;
    Dim end = dim_add(l->dims, offset, bytes);
    if (!a || a->workspace == DIM_NONE || !dim_proved(l->dims, a->workspace, DIM_GE, end)) {
        lower_fail(l, "its schedule needs more workspace than the plan has for it");
        return pointer;
    }
    DispatchArg arg = {.is_buffer = true,
                       .kind = BUF_ARENA,
                       .offset = dim_add(l->dims, a->workspace_offset, offset),
                       .bytes = bytes,
                       .read = access == K_READ,
                       .write = access == K_WRITE};
    vec_push(l->arena, &l->args, arg);
    return pointer;
}

KVal lower_workspace(Lower *l, DType dtype, Dim bytes, int access) {
    return lower_workspace_part(l, "workspace", dtype, dim_const(l->dims, 0), bytes, access);
}

KVal lower_workgroup(Lower *l, Dim workgroups) {
    KVal x = k_workgroup_id_x(l->b);
    if (dim_bounds(l->dims, workgroups).hi <= l->plan->target.max_grid[0]) return x;
    KVal group = k_iadd(l->b, k_imul(l->b, k_workgroup_id_y(l->b), k_num_workgroups_x(l->b)), x);
    l->folded = true;
    k_if_begin(l->b, k_slt(l->b, group, lower_dim(l, workgroups)));
    return group;
}

// Equal but for names and source lines.
static bool lower_same_kernel(const Kernel *a, const Kernel *b) {
    if (a->local_size != b->local_size || a->subgroup_size != b->subgroup_size ||
        a->components != b->components || a->strict != b->strict ||
        a->params.len != b->params.len || a->shared.len != b->shared.len ||
        a->code.len != b->code.len)
        return false;
    for (uint32_t i = 0; i < a->params.len; i++) {
        const KParam *p = &a->params.at[i], *q = &b->params.at[i];
        if (p->kind != q->kind || p->dtype != q->dtype || p->read != q->read ||
            p->write != q->write || p->lo != q->lo || p->hi != q->hi || p->multiple != q->multiple)
            return false;
    }
    for (uint32_t i = 0; i < a->shared.len; i++) {
        const KShared *p = &a->shared.at[i], *q = &b->shared.at[i];
        if (p->dtype != q->dtype || p->lanes != q->lanes || p->count != q->count) return false;
    }
    for (uint32_t i = 0; i < a->code.len; i++) {
        const KInstr *p = &a->code.at[i], *q = &b->code.at[i];
        if (p->op != q->op || p->mem != q->mem || p->align != q->align || p->flag != q->flag ||
            !ktype_equal(p->type, q->type) || memcmp(p->arg, q->arg, sizeof p->arg) != 0 ||
            p->imm != q->imm || p->match != q->match)
            return false;
    }
    return true;
}

static uint64_t lower_kernel_hash(const Kernel *kernel) {
    uint64_t hash = hash_bytes(kernel->local_size, &kernel->params.len, sizeof kernel->params.len);
    for (uint32_t i = 0; i < kernel->code.len; i++) {
        const KInstr *instr = &kernel->code.at[i];
        hash = hash_bytes(hash, instr->arg, sizeof instr->arg);
        int64_t rest[] = {instr->op, instr->mem, instr->imm};
        hash = hash_bytes(hash, rest, sizeof rest);
    }
    return hash;
}

static bool lower_name_taken(const Program *program, const char *name, uint64_t hash) {
    for (uint32_t i = 0; i < program->kernels.len; i++)
        if (program->hashes.at[2 * i + 1] == hash &&
            strcmp(program->kernels.at[i]->name, name) == 0)
            return true;
    return false;
}

static uint32_t lower_add_kernel(Program *program, Arena *arena, Kernel *kernel) {
    uint64_t hash = lower_kernel_hash(kernel);
    for (uint32_t i = 0; i < program->kernels.len; i++)
        if (program->hashes.at[2 * i] == hash && lower_same_kernel(program->kernels.at[i], kernel))
            return i;
    const char *name = kernel->name;
    uint64_t named = hash_bytes(0, name, strlen(name));
    for (uint32_t number = 2; lower_name_taken(program, kernel->name, named); number++) {
        kernel->name = arena_printf(arena, "%s.%u", name, number);
        named = hash_bytes(0, kernel->name, strlen(kernel->name));
    }
    vec_push(arena, &program->kernels, kernel);
    vec_push(arena, &program->hashes, hash);
    vec_push(arena, &program->hashes, named);
    return program->kernels.len - 1;
}

static Dim lower_traffic(Lower *l) {
    Dim sum = dim_const(l->dims, 0);
    for (uint32_t i = 0; i < l->args.len; i++)
        if (l->args.at[i].is_buffer) sum = dim_add(l->dims, sum, l->args.at[i].bytes);
    return sum;
}

bool lower_finish(Lower *l, Dim workgroups, Dim flops) {
    if (l->folded) k_if_end(l->b, 0, NULL, NULL);
    if (l->failed) return false;
    Kernel *kernel = k_finish(l->b);
    Dispatch dispatch = {.kernel = lower_add_kernel(l->program, l->arena, kernel),
                         .node = l->node,
                         .flops = flops,
                         .bytes = lower_traffic(l),
                         .arg = l->args.at,
                         .args = l->args.len};
    Dim one = dim_const(l->dims, 1), zero = dim_const(l->dims, 0);
    if (dim_bounds(l->dims, workgroups).lo < 0) // sizes are not; their product's bounds are wider
        workgroups = dim_max(l->dims, workgroups, zero);
    dispatch.grid[0] = workgroups, dispatch.grid[1] = one, dispatch.grid[2] = one;
    int64_t limit = l->plan->target.max_grid[0];
    if (dim_bounds(l->dims, workgroups).hi > limit) {
        Dim width = dim_const(l->dims, limit);
        dispatch.grid[0] = dim_min(l->dims, workgroups, width);
        dispatch.grid[1] = dim_ceil_div(l->dims, workgroups, width);
    }
    vec_push(l->arena, &l->program->dispatches, dispatch);
    return true;
}
