// Family "attention", form "split": the second dispatch. A workgroup joins all parts of one row:
// invocations of a column go over every so-manieth part, and at the end these meet, all in a fixed
// order.
#include "passes/attention_split.h"
#include "passes/lower_attention.h"

#include <math.h>

typedef struct Join {
    Attention a;
    Lower *l;
    const AttentionSplit *layout;
    unsigned width, across, groups; // lanes of a column, columns of a row, invocations of a column
    Space space;                    // of workspace
    View view;
    KVal pointer, row, group, column;
} Join;

// A running sum: relative to base, of weights, of values.
typedef struct JoinSum {
    KVal base, weight, sum;
} JoinSum;

static KVal number(Join *j, unsigned value) {
    return k_i32(j->l->b, (int32_t)value);
}

static KVal join_read(Join *j, KVal part, KVal column, unsigned lanes) {
    Point point = point_make(&j->space, (uint8_t)lanes);
    point.index[0] = part, point.index[1] = j->row, point.index[2] = column;
    return lower_load_at(j->l, j->pointer, DT_F32, &j->view, &point);
}

static KVal base_or_zero(KBuilder *b, KVal base) {
    return k_select(b, k_feq(b, base, k_f32(b, -INFINITY)), k_f32(b, 0), base);
}

// The sums of several stretches of keys as one.
static JoinSum join_all(Join *j, const JoinSum *from, unsigned count) {
    KBuilder *b = j->l->b;
    JoinSum out = {.base = from[0].base};
    for (unsigned i = 1; i < count; i++) out.base = k_fmax(b, out.base, from[i].base);
    KVal base = base_or_zero(b, out.base);
    for (unsigned i = 0; i < count; i++) {
        KVal scale = k_exp(b, k_fsub(b, from[i].base, base));
        KVal weight = k_fmul(b, from[i].weight, scale);
        KVal sum = k_fmul(b, from[i].sum, k_splat(b, scale, j->width));
        out.weight = i ? k_fadd(b, out.weight, weight) : weight;
        out.sum = i ? k_fadd(b, out.sum, sum) : sum;
    }
    return out;
}

static JoinSum join_loop(Join *j) {
    Lower *l = j->l;
    KBuilder *b = l->b;
    const AttentionSplit *o = j->layout;
    KVal none = k_f32(b, -INFINITY), zero = k_f32(b, 0), parts = lower_dim(l, o->parts);
    KVal last = k_isub(b, parts, number(j, 1));
    KVal init[3] = {none, zero, k_splat(b, zero, j->width)}, now[3], out[3];
    KVal first = k_loop_begin(b, number(j, 0), parts, number(j, j->groups * JOIN_UNROLL),
                              K_LOOP_PLAIN, 3, init, now);
    JoinSum from[1 + JOIN_UNROLL] = {{now[0], now[1], now[2]}};
    for (unsigned u = 0; u < JOIN_UNROLL; u++) {
        KVal part = k_iadd(b, k_iadd(b, first, j->group), number(j, u * j->groups));
        KVal inside = k_slt(b, part, parts);
        part = k_smin(b, part, last);
        JoinSum *own = &from[1 + u];
        own->base = k_select(b, inside, join_read(j, part, number(j, o->at), 1), none);
        own->weight = join_read(j, part, number(j, o->at + 1), 1);
        own->sum = join_read(j, part, j->column, j->width);
    }
    JoinSum next = join_all(j, from, 1 + JOIN_UNROLL);
    KVal carried[3] = {next.base, next.weight, next.sum};
    k_loop_end(b, carried, out);
    return (JoinSum){out[0], out[1], out[2]};
}

// The groups' sums meet in workgroup memory; invocations of the first group return the result.
static JoinSum join_groups(Join *j, JoinSum own) {
    KBuilder *b = j->l->b;
    if (j->groups == 1) return own;
    unsigned columns = j->across * j->width;
    uint32_t sums = k_shared(b, "sums", DT_F32, j->width, j->groups * j->across);
    uint32_t statistics = k_shared(b, "statistics", DT_F32, 1, j->groups * 2);
    KVal at = k_iadd(b, k_imul(b, j->group, number(j, columns)), j->column);
    KVal two = k_imul(b, j->group, number(j, 2));
    k_if_begin(b, k_slt(b, j->group, number(j, j->groups)));
    k_shared_store(b, sums, at, own.sum);
    k_if_begin(b, k_ieq(b, j->column, number(j, 0)));
    k_shared_store(b, statistics, two, own.base);
    k_shared_store(b, statistics, k_iadd(b, two, number(j, 1)), own.weight);
    k_if_end(b, 0, NULL, NULL);
    k_if_end(b, 0, NULL, NULL);
    k_barrier(b);
    JoinSum *from = arena_alloc(j->l->arena, j->groups * sizeof *from);
    for (unsigned g = 0; g < j->groups; g++) {
        KVal place = k_iadd(b, number(j, g * columns), j->column);
        from[g].base = k_shared_load(b, statistics, number(j, 2 * g), K_TYPE(KT_F32, 1));
        from[g].weight = k_shared_load(b, statistics, number(j, 2 * g + 1), K_TYPE(KT_F32, 1));
        from[g].sum = k_shared_load(b, sums, place, K_TYPE(KT_F32, (uint8_t)j->width));
    }
    return join_all(j, from, j->groups);
}

static void join_store(Join *j, JoinSum sum) {
    KBuilder *b = j->l->b;
    KVal length = lower_dim(j->l, j->a.rows);
    k_if_begin(b, k_ieq(b, j->group, number(j, 0)));
    j->a.head = k_udiv(b, j->row, length);
    KVal factor = k_splat(b, attention_inverse(&j->a, sum.weight), j->width);
    attention_result(&j->a, k_urem(b, j->row, length), j->column, k_fmul(b, sum.sum, factor));
    k_if_end(b, 0, NULL, NULL);
}

bool lower_attention_join(const Lower *first, const AttentionSplit *layout) {
    Join *j = arena_alloc(first->arena, sizeof *j);
    Lower *l = j->l = arena_alloc(first->arena, sizeof *l);
    const Schedule schedule = {.local = JOIN_LOCAL};
    *l = lower_begin_next(first, "join", &schedule);
    if (!attention_begin(&j->a, l)) return false;
    KBuilder *b = l->b;
    DimTable *dims = l->dims;
    j->layout = layout, j->width = layout->v.width;
    j->across = layout->v.columns / j->width, j->groups = schedule.local / j->across;
    Dim rows = dim_mul(dims, j->a.heads, j->a.rows);
    Dim size[3] = {layout->parts, layout->all_rows, dim_const(dims, layout->record)};
    j->space = space_of(l, 3, size), j->view = view_identity(dims, 3, size);
    j->row = lower_workgroup(l, rows);
    KVal id = k_local_id(b), across = number(j, j->across);
    j->group = k_udiv(b, id, across);
    j->column = k_imul(b, k_urem(b, id, across), number(j, j->width));
    j->pointer = lower_workspace(l, DT_F32, layout->bytes, K_READ);
    join_store(j, join_groups(j, join_loop(j)));
    Dim cells = dim_mul(dims, rows, dim_const(dims, layout->v.columns));
    return lower_finish(l, rows, dim_mul(dims, cells, layout->parts));
}
