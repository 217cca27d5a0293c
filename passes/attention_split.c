#include "passes/attention_split.h"

static bool power_of_two(unsigned x) {
    return x && (x & (x - 1)) == 0;
}

static unsigned ceil_div(unsigned a, unsigned b) {
    return (a + b - 1) / b;
}

static bool split_read(Graph *g, NodeId fused, ValueId value, unsigned columns, SplitRead *out) {
    *out = (SplitRead){.columns = columns};
    DType dtype = graph_value(g, value)->type.dtype;
    bool known = attention_operand(g, fused, value, &out->operand);
    out->wide = known && out->operand.vector && out->operand.moves.guards == 0;
    out->vec = out->wide ? COOP_MOVE / dtype_bytes(dtype) : columns % 4 ? 1 : 4;
    out->width = out->vec < 4 ? out->vec : 4;
    out->pieces = out->vec / out->width;
    return dtype == DT_F32 || dtype == DT_F16 || dtype == DT_BF16;
}

static void split_steps(AttentionSplit *o, const Schedule *s) {
    unsigned units = ceil_div(o->v.columns, o->v.vec);
    o->subgroups = s->local / s->subgroup;
    o->keys = s->tile_n / o->subgroups;
    o->at_once = s->subgroup / s->lanes;
    o->steps = o->keys / o->at_once;
    o->reads = ceil_div(o->k.columns, s->lanes * o->k.vec);
    o->value_lanes = 1;
    while ((o->value_lanes < units || s->subgroup / o->value_lanes > o->keys) &&
           o->value_lanes < s->subgroup)
        o->value_lanes *= 2;
    o->value_at_once = s->subgroup / o->value_lanes;
    o->value_steps = o->keys / o->value_at_once;
    o->value_reads = ceil_div(units, o->value_lanes);
    o->pitch = (s->tile_m + 3) & ~3u;
}

// Parts that workspace holds: the arena is laid out before dims that the host sets for each run are
// known, and then for as many as there may be.
static Dim split_parts_held(DimTable *dims, Dim parts) {
    uint64_t symbols = dim_symbols(dims, parts);
    for (uint32_t i = 0; i < dim_symbol_count(dims); i++)
        if (symbols >> i & 1 && dim_symbol_source(dims, i) == DIM_FROM_HOST)
            return dim_const(dims, dim_bounds(dims, parts).hi);
    return parts;
}

static void split_memory(const Graph *g, AttentionSplit *o, const Schedule *s, Dim queries) {
    DimTable *dims = g->dims;
    const AttentionShape *a = &o->shape;
    o->parts = dim_ceil_div(dims, a->keys, dim_const(dims, s->tile_n));
    o->rows = dim_mul(dims, a->rows, dim_const(dims, a->group));
    o->blocks = dim_ceil_div(dims, o->rows, dim_const(dims, s->tile_m));
    o->at = (a->value_size + 3) & ~3u;
    o->record = o->at + 4;
    o->all_rows = dim_mul(dims, a->heads, queries);
    Dim rows = o->all_rows;
    Dim held = split_parts_held(dims, o->parts);
    Dim words = dim_mul(dims, dim_mul(dims, held, rows), dim_const(dims, o->record));
    o->bytes = dim_mul(dims, words, dim_const(dims, 4));
    o->shared_bytes = 4 * (s->tile_n * o->pitch + o->subgroups * s->tile_m * o->at +
                           o->subgroups * s->tile_m * 2);
}

unsigned attention_join_parts(const AttentionSplit *o) {
    return JOIN_LOCAL / (o->v.columns / o->v.width) * JOIN_UNROLL;
}

// Workspace is laid out for as many rows as there may be.
static Dim split_queries(const Graph *g, const AttentionShape *a, const Condition *condition,
                         uint32_t conditions) {
    Dim rows = a->rows;
    for (uint32_t i = 0; i < conditions; i++)
        if (condition[i].left == a->rows && condition[i].relation == DIM_LE)
            rows = dim_min(g->dims, rows, condition[i].right);
    return rows;
}

const char *attention_split(Graph *g, NodeId fused, const Schedule *s, const Target *target,
                            const Condition *condition, uint32_t conditions, AttentionSplit *o) {
    *o = (AttentionSplit){0};
    if (!attention_shape(g, fused, &o->shape)) return "head sizes must be constant";
    const AttentionShape *a = &o->shape;
    if (!split_read(g, fused, a->q, a->size, &o->q) ||
        !split_read(g, fused, a->k, a->size, &o->k) ||
        !split_read(g, fused, a->v, a->value_size, &o->v))
        return "form=split is for f32, f16 and bf16";
    if (o->q.vec != o->k.vec) return "queries are not read as keys are";
    if (dim_bounds(g->dims, a->keys).lo < 1 || dim_bounds(g->dims, a->rows).lo < 1)
        return "there may be no key or no row";
    if (!s->subgroup || target->subgroup_min != target->subgroup_max ||
        s->subgroup != target->subgroup_size || s->local % s->subgroup ||
        s->local > target->max_invocations || s->local > target->max_local_x)
        return "form=split needs subgroups of the target's one size";
    if (!s->tile_m || s->tile_m > SPLIT_ROWS_MAX || s->tile_m > s->local)
        return "tile_m must be 1 to 8";
    if (!power_of_two(s->lanes) || s->lanes > s->subgroup || !power_of_two(s->tile_n) ||
        s->tile_n < s->local / s->subgroup)
        return "lanes and tile_n must be powers of two that fit the subgroups";
    split_steps(o, s);
    if (o->subgroups > SPLIT_SUBGROUPS_MAX) return "there are more subgroups than can join";
    if (!power_of_two(o->steps) || o->steps > s->lanes || o->steps > SPLIT_STEPS_MAX ||
        !o->value_steps || o->value_steps > 2 * SPLIT_STEPS_MAX || o->reads > 4 ||
        o->value_reads > 4)
        return "a subgroup's keys must be 1 to `lanes` steps";
    if (o->v.columns / o->v.width > JOIN_LOCAL || JOIN_LOCAL > target->max_invocations)
        return "a row of the result does not fit a workgroup";
    split_memory(g, o, s, split_queries(g, a, condition, conditions));
    if (o->shared_bytes > target->shared_bytes)
        return "its sums need more workgroup memory than the target has";
    return NULL;
}
