// Candidates of family "scan". A cost is what one invocation does, times how often invocations must
// follow each other on a machine that runs so many at once.
#include "passes/scan_shape.h"
#include "passes/schedule.h"

#include <math.h>

#include "passes/build.h"

typedef struct ScanSite {
    ScheduleSite *site;
    ScanShape shape;
    double units, length; // blocks of all rows, elements of one
    uint32_t subgroup;    // 0: of no known size
} ScanSite;

static double scan_fills(const ScanSite *scan, double invocations) {
    uint32_t units = scan->site->target->compute_units;
    double fills = invocations / (units ? units * 1024.0 : 256);
    return fills < 1 ? 1 : fills;
}

static void prefix_candidate(ScanSite *scan, uint32_t lanes, uint32_t local) {
    ScheduleSite *site = scan->site;
    bool along = scan->shape.axis + 1 == scan->shape.rank;
    Schedule s = {.lanes = lanes, .local = local, .rows = local / lanes, .vec = 1, .items = 1};
    if (lanes == 1) s.items = 8;
    if (along) s.vec = schedule_divisor(site, scan->shape.length, 4);
    if (along && scan->shape.block != scan->shape.length)
        s.vec = schedule_divisor(site, scan->shape.block, s.vec);
    uint32_t own = scan->subgroup;
    if (lanes > 1 && own && local % own == 0 && lanes <= own * own) s.subgroup = own;
    double each = s.vec * s.items, rounds = ceil(scan->length / (lanes * each));
    double joining = lanes == 1 ? 0 : (s.subgroup ? 2 : 6) * log2(lanes) + (lanes > own ? 10 : 0);
    double apart = along && lanes == 1 ? 4 : !along && lanes > 1 ? 4 : 1; // whole sectors
    double memory = 2.0 * s.items * (s.vec > 1 ? 1.5 : 1) * apart;
    double latency = site->target->compute_units ? 20 : 0;
    double cost = rounds * (memory + 2 * each + joining + latency);
    schedule_add(site, s, cost * scan_fills(scan, scan->units * lanes),
                 arena_printf(site->arena, "%u lanes a row, %.3g rounds", lanes, rounds));
}

static void schedule_prefix(ScanSite *scan) {
    uint32_t most =
        scan->site->target->max_invocations < 256 ? scan->site->target->max_invocations : 256;
    prefix_candidate(scan, 1, 64);
    for (uint32_t lanes = 8; lanes <= most; lanes *= 2)
        prefix_candidate(scan, lanes, lanes < 64 ? 64 : lanes);
}

// Several short rows share a workgroup.
static void schedule_sort(ScanSite *scan) {
    ScheduleSite *site = scan->site;
    uint32_t block = (uint32_t)build_attr(scan->shape.node, "chunk")->i, rows = 1;
    while (rows * block < 128) rows *= 2;
    for (uint32_t local = 64; local <= 512 && local <= site->target->max_invocations; local *= 2) {
        if (rows * block % (2 * local)) break;
        Schedule s = {.local = local, .rows = rows};
        double levels = log2(block), rounds = rows * block / (2.0 * local);
        double cost = levels * (levels + 1) / 2 * (rounds * 10 + 15);
        schedule_add(site, s, cost * scan_fills(scan, scan->units / rows * local),
                     arena_printf(site->arena, "blocks of %u in workgroup memory", block));
    }
}

static void schedule_elements(ScanSite *scan) {
    uint32_t local = scan->length >= 256 && scan->site->target->compute_units ? 256 : 64;
    Schedule s = {.local = local};
    schedule_add(scan->site, s, 1, "an invocation an element");
}

typedef struct ScanPolicy {
    OpId op;
    void (*candidates)(ScanSite *scan);
} ScanPolicy;

static const ScanPolicy scan_policies[] = {
    {OP_PREFIX_SUM, schedule_prefix},     {OP_SORT_BLOCKS, schedule_sort},
    {OP_MERGE_BLOCKS, schedule_elements}, {OP_SEGMENTS, schedule_elements},
    {OP_COUNTS, schedule_elements},
};

void schedule_scan(ScheduleSite *site) {
    ScanSite scan = {.site = site};
    if (!scan_shape(site->graph, site->fused, &scan.shape)) return;
    scan.units = schedule_size(site, scan.shape.rows) * schedule_size(site, scan.shape.blocks);
    scan.length = schedule_size(site, scan.shape.block);
    scan.subgroup = schedule_subgroup(site->target);
    for (unsigned i = 0; i < sizeof scan_policies / sizeof scan_policies[0]; i++)
        if (scan_policies[i].op == scan.shape.node->op) scan_policies[i].candidates(&scan);
}
