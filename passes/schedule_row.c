// Candidates of family "row": how many invocations share a row, and whether registers hold it.
// A cost is time: on a device in microseconds, the larger of memory's and the instructions' and
// what one lane waits for; else in memory instructions of one invocation, times how often 256 of
// them must follow each other. The numbers were fitted to rows of 10 to 8192 elements on an H200.
#include "passes/schedule.h"

#include <math.h>

typedef struct RowSite {
    ScheduleSite *site;
    RowShape shape;
    double rows, length;
    uint32_t phases, writes; // writes: full results
    uint32_t bytes;          // of an element
    bool along, across;      // full operands lie side by side along the row; across rows
    int64_t step;            // elements from a row to the next in memory, where that is known
} RowSite;

// Neighbouring rows are told apart by the last axis that is kept.
static void row_look_step(RowSite *row, const View *view) {
    DimTable *dims = row->site->dims;
    int64_t step;
    for (uint8_t a = view->rank; a-- > 0;) {
        if (row->shape.reduced >> a & 1 || dim_is(dims, view->size[a], 1)) continue;
        Dim stride = view_axis_stride(view, a);
        if (stride == DIM_NONE || !dim_is_const(dims, stride, &step)) return;
        if (step < 0) step = -step;
        if (step > 0 && (row->step == 0 || step < row->step)) row->step = step;
        return;
    }
}

// How the operands from memory lie.
static void row_look(RowSite *row) {
    const Graph *g = row->site->graph;
    DimTable *dims = row->site->dims;
    const Region *body = &g->regions.at[row->site->fused->body];
    uint32_t along = 0, across = 0;
    for (uint32_t i = 0; i < body->nodes.len; i++) {
        const Node *node = graph_node(g, body->nodes.at[i]);
        if (node->inline_view) continue;
        for (uint32_t o = 0; o < node->operands; o++) {
            ValueId base;
            View view;
            if (!node->operand[o] || !graph_view(g, node->operand[o], &base, &view)) continue;
            NodeId from = graph_value(g, base)->node;
            if (from && graph_node(g, from)->region == row->site->fused->body) continue;
            if (view.rank != row->shape.rank) continue;
            row_look_step(row, &view);
            for (uint8_t a = 0; a < view.rank; a++) {
                bool unit = dim_is(dims, view_axis_stride(&view, a), 1);
                if (unit && row->shape.reduced >> a & 1) along++;
                if (unit && !(row->shape.reduced >> a & 1)) across++;
            }
        }
    }
    row->along = along > 0, row->across = across > along;
}

static uint32_t row_phases(RowSite *row) {
    const Graph *g = row->site->graph;
    const Region *body = &g->regions.at[row->site->fused->body];
    uint32_t last = 0;
    for (uint32_t i = 0; i < body->nodes.len; i++) {
        const Node *node = graph_node(g, body->nodes.at[i]);
        if (node->kind == NODE_OP && op_info(node->op)->class == OC_REDUCE)
            row->bytes = dtype_bytes(graph_value(g, node->operand[0])->type.dtype);
        if (node->kind == NODE_OP && op_info(node->op)->class == OC_REDUCE)
            last = row_level(&row->shape, node->result[0]) > last
                       ? row_level(&row->shape, node->result[0])
                       : last;
    }
    for (uint32_t r = 0; r < row->site->fused->results; r++) {
        ValueId value = row->site->fused->result[r];
        row->writes += row_is_full(&row->shape, value);
        if (row_is_full(&row->shape, value) && row_level(&row->shape, value) + 1 > last)
            last = row_level(&row->shape, value) + 1;
    }
    return last;
}

static double row_joining(const Schedule *s) {
    if (s->lanes == 1) return 0;
    if (s->subgroup) return 0.5 * log2(s->lanes) + (s->lanes > s->subgroup ? 6 : 0);
    return s->lanes <= 16 ? 4 + 0.5 * s->lanes : 16;
}

// How much more memory is moved than wanted when every invocation reads a row by itself: whole
// sectors where rows are apart, unless a row's own neighbours use the rest of a line soon after.
static double row_apart(const RowSite *row, bool device) {
    if (row->across || (row->step > 0 && row->step <= 2)) return 1;
    if (!device) return 1.5;
    if (row->step > 0 && row->step < 8) return (double)row->step;
    return row->along && row->length <= 32 ? 2 : 8;
}

static void row_keep(RowSite *row, Schedule *s, bool device) {
    int64_t length;
    if (row->phases < 2 || !dim_is_const(row->site->dims, row->shape.length, &length)) return;
    int64_t items = (length + s->lanes * s->vec - 1) / (s->lanes * s->vec);
    int64_t most = s->lanes == 1 || device ? 16 : 8;
    if (items >= 1 && items <= most && items * s->vec <= (device ? 64 : 16))
        s->keep = 1, s->items = (uint32_t)items;
}

static double row_cost_vectors(const RowSite *row, const Schedule *s) {
    double work = ceil(row->length / (s->lanes * s->vec));
    work *= s->keep ? 1 + 0.2 * row->phases : row->phases;
    if (s->lanes == 1)
        work *= row_apart(row, false);
    else if (!row->along)
        work *= 1.5;
    double fills = row->rows * s->lanes / 256;
    return (work + row_joining(s) * row->phases + 2) * (fills < 1 ? 1 : fills);
}

enum { ROW_BYTES_US = 30000, ROW_INSTRUCTIONS_US = 220000 }; // of one compute unit

static double row_cost_device(const RowSite *row, const Schedule *s) {
    double units = row->site->target->compute_units, phases = row->phases;
    double trips = ceil(row->length / (s->lanes * s->vec)), invocations = row->rows * s->lanes;
    double passes = (s->keep ? 1 : phases) + row->writes;
    double memory = row->rows * row->length * row->bytes * passes / (units * ROW_BYTES_US);
    if (s->lanes == 1)
        memory *= row_apart(row, true);
    else if (!row->along)
        memory *= 8;
    bool far = s->lanes > s->subgroup; // joined through workgroup memory
    double joining = s->lanes == 1 ? 0 : 5 * log2(s->lanes) + (far ? 40 : 0);
    double instructions = invocations * (phases * (4 * trips * s->vec + joining) + 30);
    double issue = instructions / (units * ROW_INSTRUCTIONS_US);
    double waiting = 1 + 0.18 * trips * (s->keep ? 1 : phases);
    if (s->lanes > 1) waiting += phases * (far ? 0.8 : 0.3);
    return waiting + (memory > issue ? memory + issue / 2 : issue + memory / 2);
}

static void row_candidate(RowSite *row, uint32_t lanes, uint32_t local) {
    ScheduleSite *site = row->site;
    const Target *target = site->target;
    bool device = target->compute_units > 0;
    Schedule s = {.lanes = lanes, .local = local, .rows = local / lanes, .vec = 1, .items = 1};
    if (row->along && (lanes > 1 || !row->across))
        s.vec = schedule_divisor(site, row->shape.length, 4);
    uint32_t subgroup = schedule_subgroup(target);
    if (lanes > 1 && subgroup && local % subgroup == 0) s.subgroup = subgroup;
    row_keep(row, &s, device);
    double cost = device ? row_cost_device(row, &s) : row_cost_vectors(row, &s);
    const char *why = arena_printf(site->arena, "%u lanes a row%s, %s", lanes,
                                   s.keep ? ", row kept in registers" : "",
                                   lanes == 1 ? "rows side by side" : "lanes along the row");
    schedule_add(site, s, cost, why);
}

void schedule_row(ScheduleSite *site) {
    RowSite row = {.site = site};
    if (!row_shape(site->arena, site->graph, site->graph->regions.at[site->fused->body].owner,
                   &row.shape))
        return;
    row.rows = schedule_size(site, row.shape.rows);
    row.length = schedule_size(site, row.shape.length);
    row_look(&row);
    row.phases = row_phases(&row);
    uint32_t most = site->target->max_invocations < 256 ? site->target->max_invocations : 256;
    schedule_window(site);
    row_candidate(&row, 1, 64);
    for (uint32_t lanes = 4; lanes <= most; lanes *= 2)
        row_candidate(&row, lanes, lanes < 64 ? 64 : lanes);
}
