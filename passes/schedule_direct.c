// Candidates of family "contract", form "direct": rows and windows of an invocation, and how much
// of K is unrolled. They are few: where windows share nothing, or rows are many, the other forms
// are better, and the cost says so.
//
// On a device the cost is cycles of one compute unit, as for the other forms: its warps issue
// instructions, and pass one line of 128 bytes a cycle through their loads; a warp alone waits for
// both. Where there are few windows because the batch is small, a form with fewer sums stands
// beside the other, under a condition on the batch.
#include "passes/direct_shape.h"
#include "passes/schedule.h"

#include <math.h>

enum {
    DIRECT_DEEP = 256,  // of K, at most,
    DIRECT_FLAT = 32,   // where windows do not overlap,
    DIRECT_ROWS = 8,    // and of rows where it is longer
    DIRECT_INNER = 64,  // of it unrolled
    DIRECT_CODE = 4096, // multiply-adds unrolled, at most
    DIRECT_CODE_ANY = 640,
    DIRECT_START = 1500,    // cycles of a workgroup
    DIRECT_WAIT = 700,      // of a load
    DIRECT_BEHIND = 20,     // instructions behind a sum
    DIRECT_REGISTERS = 220, // of an invocation, at most
    DIRECT_FILE = 65536,
    DIRECT_INVOCATIONS = 2048,
    DIRECT_FEW = 256, // invocations of a unit below which the batch is small
    DIRECT_LINE = 128,
    DIRECT_NEAR = 20 // bytes a cycle from the L2
};

// What an invocation reads of y for one place on outer K.
typedef struct DirectReads {
    uint32_t count; // loads that differ
    double lines;   // that a subgroup's load touches
    double work;    // instructions of one load
} DirectReads;

typedef struct DirectSite {
    ScheduleSite *site;
    DirectShape shape;
    View view;             // of y: see direct_columns
    double batch, largest; // to reckon with
    double read;           // cycles to read both operands once
    int64_t k;             // 0: not known
    bool shared;           // rows are those of the whole batch
    double image;          // bytes of y
    double best;
    ScheduleGuard guard; // the batch is small
    bool few;            // so small that an invocation has a scheduler for itself
} DirectSite;

static DirectReads direct_reads(DirectSite *c, uint32_t windows) {
    DimTable *dims = c->site->dims;
    const ContractShape *shape = &c->shape.contract;
    uint32_t columns = windows * shape->cells, all = columns * c->shape.inner;
    WindowKey *keys = arena_alloc(c->site->arena, all * sizeof *keys);
    DirectReads reads = {.work = 2 + 2.5 * c->view.guards + (c->view.inner ? 20 : 0)};
    for (uint32_t k = 0; k < c->shape.inner; k++)
        for (uint32_t j = 0; j < columns; j++) {
            WindowKey key = direct_key(dims, &c->view, j / shape->cells, j % shape->cells, k);
            uint32_t i = 0;
            while (i < reads.count && !window_key_equal(&keys[i], &key)) i++;
            if (i == reads.count) keys[reads.count++] = key;
        }
    int64_t apart = DIRECT_LINE;
    Dim stride = view_axis_stride(&c->view, 2);
    DType dtype = graph_value(c->site->graph, shape->y)->type.dtype;
    if (stride == DIM_NONE)
        apart = 1;
    else if (dim_is_const(dims, stride, &apart) && apart < 0)
        apart = -apart;
    reads.lines = fmax(1, fmin(32, 32.0 * apart * windows * dtype_bytes(dtype) / DIRECT_LINE));
    if (dtype == DT_F16 || dtype == DT_BF16) reads.work += 1;
    return reads;
}

// Neighbours of a row along K, or of K along the rows, that are read at once.
static uint32_t direct_vector(const Schedule *s) {
    uint32_t along = s->stages ? s->reg_m : s->tile_k;
    return along % 4 == 0 ? 4 : along % 2 == 0 ? 2 : 1;
}

static double direct_registers(const Schedule *s, const DirectReads *reads) {
    double rows = s->reg_m * (s->stages ? 1 : direct_vector(s));
    return s->reg_m * s->reg_n + fmin(reads->count, 24) + rows + 28;
}

// Invocations that the schedule takes.
static double direct_places(DirectSite *c, const Schedule *s, double batch) {
    const ContractShape *shape = &c->shape.contract;
    double windows = schedule_size(c->site, shape->windows) * batch;
    return ceil(schedule_size(c->site, shape->m) / s->reg_m) * windows * shape->cells / s->reg_n;
}

static double direct_cost(DirectSite *c, const Schedule *s, const DirectReads *reads,
                          double batch) {
    const Target *target = c->site->target;
    const ContractShape *shape = &c->shape.contract;
    double lanes = s->lanes > 1 ? s->lanes : 1;
    double trips = ceil(schedule_size(c->site, shape->k) / s->tile_k / lanes);
    double products = (double)s->reg_m * s->reg_n;
    double rows = (double)s->tile_k * s->reg_m / direct_vector(s);
    double loads = reads->count * reads->work + rows;
    double behind = c->few ? DIRECT_BEHIND : 4; // where all instructions count, those of maps do
    double work = trips * (products * s->tile_k + loads + 6) + behind * products + 60;
    work += 2 * log2(lanes) * products;
    double places = direct_places(c, s, batch) * lanes;
    if (!target->compute_units) { // vectors of a processor: only the work counts
        double full = places / 64;
        return (work + 2 * trips * loads) * (full < 1 ? 1 : full);
    }
    double each = fmax(1, places / 32 / target->compute_units); // warps of a unit
    double together = fmin(DIRECT_INVOCATIONS, DIRECT_FILE / direct_registers(s, reads)) / 32;
    double issue = each * work / 4, lines = each * trips * (reads->count * reads->lines + rows);
    double blocks = ceil(schedule_size(c->site, shape->m) / s->reg_m);
    double far = c->image * batch / c->batch * blocks / (target->compute_units * DIRECT_NEAR);
    double busy = fmax(fmax(issue, lines), far) + fmin(issue, lines) / 4;
    double rounds = fmax(1, each / together);
    double alone = (c->few ? 2 + 3 / rounds : 2) * work + DIRECT_WAIT * (s->stages ? 2 : 1) +
                   DIRECT_WAIT * (trips - 1) / 2;
    double cost = DIRECT_START + hypot(busy, alone * rounds / fmin(rounds, 2));
    return schedule_behind_memory(cost, c->read * batch / c->batch);
}

// One schedule serves all sizes of the batch: the middle of what it costs at usual ones and, with
// as much work, at the largest.
static double direct_middle(DirectSite *c, const Schedule *s, const DirectReads *reads) {
    double usual = direct_cost(c, s, reads, c->batch);
    if (c->batch == c->largest) return usual;
    return sqrt(usual * direct_cost(c, s, reads, c->largest) * c->batch / c->largest);
}

static void direct_candidate(DirectSite *c, Schedule s, const DirectReads *reads) {
    ScheduleSite *site = c->site;
    const Target *target = site->target;
    uint32_t most = target->compute_units ? DIRECT_CODE : DIRECT_CODE_ANY;
    double sums = (double)s.reg_m * s.reg_n;
    if (sums > DIRECT_SUMS_MAX || (sums * s.tile_k > most && sums > c->shape.contract.cells))
        return;
    if (target->compute_units && direct_registers(&s, reads) > DIRECT_REGISTERS) return;
    if (s.stages && (!c->shared || !c->k || c->k * s.reg_m * 4 > target->shared_bytes)) return;
    double cost = direct_middle(c, &s, reads);
    if (c->best > 0 && cost > 1.5 * c->best) return;
    if (c->best == 0 || cost < c->best) c->best = cost;
    const char *why = arena_printf(
        site->arena, "%u rows of %u windows at once: %u loads%s for %.0f multiply-adds%s", s.reg_m,
        s.reg_n / c->shape.contract.cells, reads->count,
        s.stages ? ", rows by way of workgroup memory," : " and rows as they are", sums * s.tile_k,
        s.lanes > 1 ? arena_printf(site->arena, ", K by %u lanes", s.lanes) : "");
    schedule_add_guarded(site,
                         (Candidate){.schedule = s, .cost = cost, .why = why, .guard = c->guard});
}

// The same with K shared by lanes of a subgroup, where places are few.
static void direct_shared(DirectSite *c, Schedule s, const DirectReads *reads) {
    const Target *target = c->site->target;
    int64_t outer;
    s.subgroup = schedule_subgroup(target);
    if (!s.subgroup || s.local % s.subgroup ||
        !dim_is_const(c->site->dims, c->shape.k_outer, &outer) ||
        direct_places(c, &s, c->largest) > (double)DIRECT_FEW * target->compute_units)
        return;
    for (s.lanes = 2; s.lanes <= s.subgroup && s.lanes < 2 * outer; s.lanes *= 2)
        direct_candidate(c, s, reads);
}

static void direct_rows(DirectSite *c, uint32_t windows, const DirectReads *reads) {
    DimTable *dims = c->site->dims;
    const ContractShape *shape = &c->shape.contract;
    double rows = schedule_largest(c->site, shape->m);
    for (uint32_t reg_m = 1; reg_m <= DIRECT_ROWS_MAX && reg_m < 2 * rows; reg_m++) {
        bool power = (reg_m & (reg_m - 1)) == 0;
        if (!dim_divides(dims, reg_m, shape->m) && !power) continue;
        Schedule s = {.form = "direct", .local = 128, .reg_m = reg_m};
        s.reg_n = windows * shape->cells, s.tile_k = c->shape.inner;
        direct_candidate(c, s, reads);
        direct_shared(c, s, reads);
        s.stages = 1;
        if (c->site->target->compute_units) direct_candidate(c, s, reads);
    }
}

static void direct_unrolled(DirectSite *c) {
    DimTable *dims = c->site->dims;
    for (uint32_t windows = 1; windows <= 8; windows++) {
        if (!dim_divides(dims, windows, c->shape.along)) continue;
        uint32_t columns = windows * c->shape.contract.cells;
        if (columns > DIRECT_SUMS_MAX || columns * c->shape.inner > DIRECT_CODE) continue;
        DirectReads reads = direct_reads(c, windows);
        direct_rows(c, windows, &reads);
    }
}

// The product of as many of the last axes of K as make no more than `most`, or of one.
static uint32_t direct_inner(const ScheduleSite *site, const ContractShape *shape, uint32_t most) {
    const Type *y = &graph_value(site->graph, shape->y)->type;
    int64_t inner = 1, size;
    for (uint8_t a = 0; a < shape->k_axes; a++) {
        if (!dim_is_const(site->dims, y->size[y->rank - 1 - a], &size) || size < 1) break;
        if (inner > 1 && inner * size > most) break;
        inner *= size;
    }
    return inner <= DIRECT_INNER_MAX ? (uint32_t)inner : 0;
}

static bool direct_look(DirectSite *c, uint32_t inner) {
    ScheduleSite *site = c->site;
    Graph *g = (Graph *)(uintptr_t)site->graph;
    View view;
    ValueId base;
    Dim size[6];
    if (!direct_shape(g, g->regions.at[site->fused->body].owner, inner, &c->shape)) return false;
    direct_columns(g, &c->shape, size);
    return graph_view(g, c->shape.contract.y, &base, &view) &&
           view_reshape(site->dims, &view, 6, size, &c->view);
}

// Whether a window reads what its neighbour along the last axis or another of its cells does.
static bool direct_overlap(DirectSite *c) {
    uint32_t windows = dim_divides(c->site->dims, 2, c->shape.along) ? 2 : 1;
    uint32_t columns = windows * c->shape.contract.cells;
    return columns * c->shape.inner <= DIRECT_CODE &&
           direct_reads(c, windows).count < columns * c->shape.inner;
}

// Whether there are few channels; overlap: whether windows do.
static bool direct_is_few(const ScheduleSite *site, const ContractShape *shape, bool overlap) {
    double k = schedule_largest(site, shape->k), rows = schedule_largest(site, shape->m);
    return k <= (overlap ? DIRECT_DEEP : DIRECT_FLAT) || (overlap && rows <= DIRECT_ROWS);
}

// All candidates: with less of K unrolled, more lanes share it.
static void direct_every_inner(DirectSite *c) {
    for (uint32_t inner = c->shape.inner, less; inner > 1; inner = less) {
        if (direct_look(c, inner)) direct_unrolled(c);
        less = direct_inner(c->site, &c->shape.contract, inner - 1);
        if (less >= inner) return;
    }
}

// Candidates for the batches that do not fill the device.
static void direct_few(DirectSite *c) {
    ScheduleSite *site = c->site;
    const ContractShape *shape = &c->shape.contract;
    DimBounds batch = dim_bounds(site->dims, shape->batch);
    double sums = schedule_largest(site, shape->m) * schedule_largest(site, shape->windows);
    int64_t most = (int64_t)((double)DIRECT_FEW * site->target->compute_units / sums);
    if (most < batch.lo || most < 1 || most >= batch.hi || !schedule_recorded(site, shape->batch))
        return;
    DirectSite few = *c;
    few.guard.condition[0] = (Condition){shape->batch, dim_const(site->dims, most), DIM_LE};
    few.guard.conditions = 1, few.few = true;
    few.batch = fmax(1, (double)batch.lo), few.largest = (double)most;
    few.image *= few.batch / c->batch, few.read *= few.batch / c->batch;
    direct_every_inner(&few);
}

void schedule_direct(ScheduleSite *site) {
    DirectSite c = {.site = site};
    Graph *g = (Graph *)(uintptr_t)site->graph;
    const ContractShape *shape = &c.shape.contract;
    ContractShape any;
    if (!contract_shape(g, g->regions.at[site->fused->body].owner, &any)) return;
    if (any.scattered || any.parts.len || !direct_is_few(site, &any, true)) return;
    uint32_t inner = direct_inner(site, &any, DIRECT_INNER);
    if (inner < 2 || !direct_look(&c, inner)) return;
    bool overlap = direct_overlap(&c);
    if (!direct_is_few(site, shape, overlap)) return;
    c.batch = schedule_size(site, shape->batch);
    c.largest = schedule_largest(site, shape->batch);
    c.shared = contract_shared(g, shape, shape->x);
    if (!dim_is_const(site->dims, shape->k, &c.k)) c.k = 0;
    if (site->target->compute_units) c.read = schedule_read_cost(site, shape->x, shape->y);
    const Type *y = &graph_value(g, plan_memory_base(g, shape->y))->type;
    c.image = schedule_size(site, type_elements(site->dims, y)) * dtype_bytes(y->dtype);
    if (overlap) direct_few(&c);
    direct_unrolled(&c);
}
