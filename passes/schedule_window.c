// Candidates of form "window" of family "row": how many windows side by side an invocation folds,
// and how many along the axis before. More of them share loads; fewer fill the device sooner. Costs
// are in the measure of the family's other schedules (schedule_row.c).
#include "passes/schedule.h"
#include "passes/window_shape.h"

#include <math.h>

enum {
    WINDOW_BYTES_US = 75000, // moved by a unit, most of them from its cache
    WINDOW_INSTRUCTIONS_US = 220000,
    WINDOW_LOAD = 10, // instructions of a load with its address
    WINDOW_OPERANDS_MAX = 8
};

typedef struct WindowOperand {
    View view; // [outer, along, length, last]
    unsigned bytes;
} WindowOperand;

typedef struct WindowSite {
    ScheduleSite *site;
    WindowShape shape;
    double rows;
    uint32_t operands;
    WindowOperand operand[WINDOW_OPERANDS_MAX];
} WindowSite;

static bool window_take_operand(WindowSite *w, Graph *g, ValueId value) {
    ValueId base;
    WindowOperand *operand = &w->operand[w->operands];
    if (w->operands == WINDOW_OPERANDS_MAX) return false;
    if (!window_view(g, &w->shape, value, &base, &operand->view)) return false;
    NodeId node = graph_value(g, base)->node;
    if (node && graph_node(g, node)->region == w->site->fused->body) return true; // computed
    operand->bytes = dtype_bytes(graph_value(g, base)->type.dtype);
    w->operands++;
    return true;
}

static bool window_look(WindowSite *w, Graph *g) {
    const Region *body = &g->regions.at[w->site->fused->body];
    for (uint32_t i = 0; i < body->nodes.len; i++) {
        const Node *node = graph_node(g, body->nodes.at[i]);
        bool reduce = op_info(node->op)->class == OC_REDUCE;
        if (node->inline_view || (!reduce && !row_is_full(&w->shape.row, node->result[0])))
            continue;
        for (uint32_t o = 0; o < node->operands; o++)
            if (node->operand[o] && !window_take_operand(w, g, node->operand[o])) return false;
    }
    return w->operands > 0;
}

// Loads of one invocation that differ.
static uint32_t window_loads(const WindowSite *w, const View *view, uint32_t items) {
    static const uint32_t most = WINDOW_LENGTH_MAX * WINDOW_ITEMS_MAX;
    WindowKey *keys = arena_alloc(w->site->arena, most * sizeof *keys);
    uint32_t count = 0;
    for (int64_t k = 0; k < w->shape.length; k++)
        for (uint32_t item = 0; item < items; item++) {
            WindowKey key =
                window_key(w->site->dims, view, WINDOW_LINEAR, (int64_t[]){0, item, k, 0});
            uint32_t i = 0;
            while (i < count && !window_key_equal(&keys[i], &key)) i++;
            if (i == count) keys[count++] = key;
        }
    return count;
}

typedef struct WindowWork {
    double loads, bytes; // of one invocation: instructions, and what they move
} WindowWork;

static WindowWork window_work(const WindowSite *w, uint32_t items, uint32_t vec) {
    WindowWork work = {0};
    DimTable *dims = w->site->dims;
    for (uint32_t i = 0; i < w->operands; i++) {
        const WindowOperand *operand = &w->operand[i];
        Dim stride = view_axis_stride(&operand->view, 3);
        int64_t step = 8;
        bool spread = stride == DIM_NONE || dim_is(dims, stride, 0);
        if (!spread && dim_is_const(dims, stride, &step) && step < 0) step = -step;
        bool vector = spread || view_is_vectorizable(dims, &operand->view, vec);
        double loads = window_loads(w, &operand->view, items);
        if (!vector) loads *= vec;
        work.loads += loads;
        double apart = spread ? 0.1 : step > 8 ? 8 : (double)step;
        work.bytes += loads * operand->bytes * apart * (vector ? vec : 1);
    }
    return work;
}

static void window_candidate(WindowSite *w, uint32_t items, uint32_t vec) {
    ScheduleSite *site = w->site;
    double units = site->target->compute_units, invocations = w->rows / (items * vec), cost;
    WindowWork work = window_work(w, items, vec);
    double folds = (double)w->shape.length * items * vec;
    if (units > 0) {
        double instructions = WINDOW_LOAD * work.loads + 2 * folds + 10.0 * items * vec + 60;
        double issue = invocations * instructions / (units * WINDOW_INSTRUCTIONS_US);
        double memory = invocations * work.bytes / (units * WINDOW_BYTES_US);
        cost = 1.2 + 0.002 * instructions + fmax(memory, issue) + fmin(memory, issue) / 2;
    } else {
        double fills = invocations / 256;
        cost = (work.loads + 0.2 * folds + 2) * (fills < 1 ? 1 : fills);
    }
    Schedule s = {.form = "window", .local = 64, .vec = vec, .items = items};
    const char *why = arena_printf(site->arena, "%u x %u windows at once, %.3g loads for each",
                                   items, vec, work.loads / (items * vec));
    schedule_add(site, s, cost, why);
}

void schedule_window(ScheduleSite *site) {
    WindowSite w = {.site = site};
    Graph *g = (Graph *)(uintptr_t)site->graph;
    if (!window_shape(site->arena, g, g->regions.at[site->fused->body].owner, &w.shape) ||
        !window_look(&w, g))
        return;
    w.rows = schedule_size(site, w.shape.row.rows);
    for (uint32_t items = 1; items <= WINDOW_ITEMS_MAX; items++)
        for (uint32_t vec = 1; vec <= WINDOW_VEC_MAX; vec *= 2)
            if (items != 3 && items != 5 && items != 6 &&
                dim_divides(site->dims, items, w.shape.along) &&
                dim_divides(site->dims, vec, w.shape.last) && items * vec * w.shape.length <= 512)
                window_candidate(&w, items, vec);
}
