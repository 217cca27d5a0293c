#include "runtime/prepare.h"
#include "runtime/error.h"
#include "runtime/record.h"
#include "runtime/transfer.h"
#include "runtime/walk.h"

#include <stdlib.h>
#include <string.h>

// ---- parts -----------------------------------------------------------------------------------

// A unit's range of params may hold those of others.
static bool needs(uint32_t unit, const AdxParam *param) {
    return !param->packed && param->unit == unit;
}

// The dims of a package at their upper bounds.
static void largest_dims(const Package *package, int64_t *values) {
    for (uint32_t i = 0; i < package->count[ADX_DIMS]; i++) values[i] = package->dims[i].hi;
}

// What splitting works on.
typedef struct Split {
    const Package *package;
    uint32_t unit;
    PrepareParts *out;
    uint32_t runs, run_use; // so far; the first use of this run
    uint32_t capacity, params;
    BlockRange *param; // places of the unit's params, rising
    uint32_t *until;   // a run: the last that must be in the same part
    AdeptError *error;
} Split;

static int by_offset(const void *a, const void *b) {
    const BlockRange *x = a, *y = b;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

static bool split_params(Split *s) {
    const AdxUnit *unit = &s->package->units[s->unit];
    const AdxParam *params = &s->package->params[unit->first_param];
    s->param = malloc((unit->params + 1u) * sizeof *s->param);
    if (!s->param) return false;
    for (uint32_t i = 0; i < unit->params; i++)
        if (needs(s->unit, &params[i]) && params[i].bytes)
            s->param[s->params++] = (BlockRange){params[i].offset, params[i].bytes};
    qsort(s->param, s->params, sizeof *s->param, by_offset);
    return true;
}

// Params are read whole, also where a step touches a part.
static BlockRange whole_param(const Split *s, BlockRange range) {
    uint32_t low = 0, high = s->params;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (s->param[middle].offset <= range.offset)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low || range.offset - s->param[low - 1].offset >= s->param[low - 1].size) return range;
    BlockRange param = s->param[low - 1];
    uint64_t end = range.offset + range.size, param_end = param.offset + param.size;
    return (BlockRange){param.offset, (end > param_end ? end : param_end) - param.offset};
}

enum { RECENT = 64 }; // uses among which one that is there already is looked for

// A use of the same tensor among the uses from `first` on, before use `at`; NULL: none.
static PrepareUse *same_use(const PrepareParts *out, uint32_t first, uint32_t at,
                            BlockRange range) {
    if (at > RECENT && first < at - RECENT) first = at - RECENT;
    while (at-- > first)
        if (out->uses[at].range.offset == range.offset && out->uses[at].range.size == range.size)
            return &out->uses[at];
    return NULL;
}

static bool add_use(Split *s, PrepareUse use) {
    PrepareParts *out = s->out;
    PrepareUse *same = same_use(out, s->run_use, out->use_count, use.range);
    if (same) {
        same->write |= use.write;
        return true;
    }
    if (out->use_count == s->capacity) {
        uint32_t wanted = s->capacity + s->capacity / 2 + 16;
        PrepareUse *bigger = realloc(out->uses, wanted * sizeof *out->uses);
        if (!bigger) return false;
        out->uses = bigger;
        s->capacity = wanted;
    }
    out->uses[out->use_count++] = use;
    return true;
}

static AdeptResult split_dispatch(Split *s, const AdxDispatch *dispatch, const int64_t *values) {
    const Package *package = s->package;
    uint64_t room = package->units[s->unit].raw_bytes;
    for (uint32_t k = 0; k < dispatch->args; k++) {
        const AdxArg *arg = &package->args[dispatch->first_arg + k];
        int64_t offset, bytes;
        if (arg->kind != ADX_ARG_BUFFER || arg->buffer != ADX_BUF_RAW) continue;
        if (!expr_evaluate(package->exprs + arg->offset, values, &offset) ||
            !expr_evaluate(package->exprs + arg->bytes, values, &bytes) || offset < 0 ||
            bytes < 0 || (uint64_t)offset > room || (uint64_t)bytes > room - (uint64_t)offset)
            return error_set(s->error, ADEPT_ERROR_FORMAT,
                             "%s touches bytes outside of its unit's staging",
                             package_string(package, dispatch->label));
        BlockRange range = {(uint64_t)offset, (uint64_t)bytes};
        if (bytes && !add_use(s, (PrepareUse){whole_param(s, range), s->runs,
                                              (arg->access & ADX_WRITE) != 0}))
            return error_memory(s->error);
    }
    return ADEPT_OK;
}

static AdeptResult split_walk(Split *s) {
    const Package *package = s->package;
    const AdxUnit *unit = &package->units[s->unit];
    int64_t values[256];
    largest_dims(package, values);
    StepWalk walk = step_walk(package, unit->first_step, unit->steps, values);
    for (const AdxStep *step; (step = step_walk_next(&walk)); s->runs++) {
        const AdxAlternative *a = &package->alternatives[step->first_alternative];
        s->run_use = s->out->use_count;
        for (uint32_t i = 0; i < step->alternatives; i++)
            for (uint32_t d = 0; d < a[i].dispatches; d++) {
                AdeptResult result =
                    split_dispatch(s, &package->dispatches[a[i].first_dispatch + d], values);
                if (result) return result;
            }
    }
    return ADEPT_OK;
}

static int by_place(const void *a, const void *b) {
    const PrepareUse *x = a, *y = b;
    if (x->range.offset != y->range.offset) return x->range.offset < y->range.offset ? -1 : 1;
    return (x->run > y->run) - (x->run < y->run);
}

// All runs that touch what one of them writes are in one part.
static bool split_bind(Split *s) {
    uint32_t count = s->out->use_count;
    PrepareUse *uses = malloc((count + 1u) * sizeof *uses);
    s->until = malloc((s->runs + 1u) * sizeof *s->until);
    if (!uses || !s->until) {
        free(uses);
        return false;
    }
    for (uint32_t i = 0; i < s->runs; i++) s->until[i] = i;
    if (count) memcpy(uses, s->out->uses, count * sizeof *uses);
    qsort(uses, count, sizeof *uses, by_place);
    for (uint32_t i = 0; i < count;) {
        uint64_t end = uses[i].range.offset + uses[i].range.size;
        uint32_t first = uses[i].run, last = first;
        bool write = false;
        for (; i < count && uses[i].range.offset < end; i++) {
            uint64_t here = uses[i].range.offset + uses[i].range.size;
            if (here > end) end = here;
            if (uses[i].run < first) first = uses[i].run;
            if (uses[i].run > last) last = uses[i].run;
            write |= uses[i].write;
        }
        if (write && s->until[first] < last) s->until[first] = last;
    }
    free(uses);
    return true;
}

// Bytes of the uses [from, to) that are not among those from `first` on.
static uint64_t new_bytes(const PrepareParts *out, uint32_t first, uint32_t from, uint32_t to) {
    uint64_t bytes = 0;
    for (uint32_t i = from; i < to; i++)
        if (!same_use(out, first, i, out->uses[i].range)) bytes += out->uses[i].range.size;
    return bytes;
}

// Cuts where a part would become larger than `most`, between runs that may be apart.
static bool split_cut(Split *s, uint64_t most) {
    PrepareParts *out = s->out;
    out->parts = malloc((s->runs + 1u) * sizeof *out->parts);
    if (!out->parts) return false;
    PreparePart part = {0};
    for (uint32_t run = 0, use = 0; run < s->runs;) {
        uint32_t end = run, first = use;
        for (uint32_t until = run; end <= until; end++) {
            if (s->until[end] > until) until = s->until[end];
            while (use < out->use_count && out->uses[use].run == end) use++;
        }
        uint64_t bytes = new_bytes(out, part.first_use, first, use);
        if (part.runs && part.bytes + bytes > most) {
            out->parts[out->count++] = part;
            part = (PreparePart){.first = run, .first_use = first};
            bytes = new_bytes(out, first, first, use);
        }
        part.runs += end - run;
        part.uses += use - first;
        part.bytes += bytes;
        if (part.bytes > out->largest) out->largest = part.bytes;
        run = end;
    }
    if (part.runs) out->parts[out->count++] = part;
    return true;
}

AdeptResult prepare_split(const Package *package, uint32_t unit, uint64_t most, PrepareParts *parts,
                          AdeptError *error) {
    *parts = (PrepareParts){0};
    Split split = {.package = package, .unit = unit, .out = parts, .error = error};
    AdeptResult result = split_params(&split) ? split_walk(&split) : error_memory(error);
    if (!result && (!split_bind(&split) || !split_cut(&split, most))) result = error_memory(error);
    free(split.param);
    free(split.until);
    if (result) prepare_parts_free(parts);
    return result;
}

void prepare_parts_free(PrepareParts *parts) {
    free(parts->parts);
    free(parts->uses);
    *parts = (PrepareParts){0};
}

// ---- running ---------------------------------------------------------------------------------

typedef struct Prepare {
    AdeptModel *model;
    Launches launches;
    RunBlock block;
} Prepare;

static void record_prepare(void *user, VkCommandBuffer commands) {
    Prepare *prepare = user;
    launches_record(prepare->model->device, &prepare->model->pipelines, &prepare->launches,
                    &prepare->block, VK_NULL_HANDLE, commands);
}

static AdeptResult run_part(AdeptModel *model, const AdxUnit *unit, const PreparePart *part,
                            const Block *raw, const Block *scratch, AdeptError *error) {
    AdeptDevice *device = model->device;
    int64_t dims[256];
    largest_dims(&model->package, dims);
    LaunchPlan plan = {.device = device,
                       .package = &model->package,
                       .first_step = unit->first_step,
                       .steps = unit->steps,
                       .first_run = part->first,
                       .runs = part->runs,
                       .dims = dims,
                       .blocks = {[ADX_BUF_PARAM] = &model->params,
                                  [ADX_BUF_CONST] = &model->consts,
                                  [ADX_BUF_RAW] = raw,
                                  [ADX_BUF_ARENA] = scratch},
                       .record_host = true};
    Prepare prepare = {.model = model};
    AdeptResult result = launches_expand(&plan, &prepare.launches, error);
    if (result) return result;
    if (prepare.launches.patch_count)
        result = error_set(error, ADEPT_ERROR_FORMAT, "unit %s reads an input or writes an output",
                           package_string(&model->package, unit->name));
    if (!result)
        result =
            run_block_create(device, &model->pipelines, &prepare.launches, &prepare.block, error);
    if (!result) result = transfer_run(device, record_prepare, &prepare, error);
    run_block_destroy(device, &prepare.block);
    launches_free(&prepare.launches);
    return result;
}

// Raw weights in, packed ones out, raw ones freed.
static AdeptResult prepare_part(AdeptModel *model, const Weights *weights, uint32_t number,
                                const PrepareUse *uses, const PreparePart *part,
                                const Block *scratch, AdeptError *error) {
    const AdxUnit *unit = &model->package.units[number];
    const AdxParam *params = &model->package.params[unit->first_param];
    BlockRange *ranges = malloc((part->uses + 1u) * sizeof *ranges);
    if (!ranges) return error_memory(error);
    for (uint32_t i = 0; i < part->uses; i++) ranges[i] = uses[part->first_use + i].range;
    Block raw;
    AdeptResult result =
        block_create_parts(model->device, unit->raw_bytes, ranges, part->uses, &raw, error);
    for (uint32_t i = 0; !result && i < unit->params; i++)
        if (needs(number, &params[i]) && block_find(&raw, params[i].offset, params[i].bytes))
            result = model_read_param(model, weights, &params[i], &raw, error);
    if (!result) result = run_part(model, unit, part, &raw, scratch, error);
    block_destroy(model->device, &raw);
    free(ranges);
    return result;
}

AdeptResult prepare_unit(AdeptModel *model, const Weights *weights, uint32_t number,
                         AdeptError *error) {
    const AdxUnit *unit = &model->package.units[number];
    Block scratch = {0};
    BlockRange *ranges = NULL;
    uint32_t count = 0;
    uint64_t end = 0;
    PrepareParts parts;
    AdeptResult result = prepare_split(&model->package, number, model->staging, &parts, error);
    if (result) return result;
    result = model_ranges(model, unit->first_step, unit->steps, ADX_BUF_ARENA, &ranges, &count,
                          &end, error);
    if (!result && end) result = block_create(model->device, end, ranges, count, &scratch, error);
    for (uint32_t i = 0; !result && i < parts.count; i++)
        result = prepare_part(model, weights, number, parts.uses, &parts.parts[i], &scratch, error);
    block_destroy(model->device, &scratch);
    free(ranges);
    prepare_parts_free(&parts);
    return result;
}
