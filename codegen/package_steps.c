// The package's programs: kernels, prepare units, steps with their alternatives, dispatches.
#include "codegen/package_writer.h"

#include <string.h>

static void put_kernels(PackageWriter *w) {
    for (uint32_t i = 0; i < w->program->kernels.len; i++) {
        const Kernel *kernel = w->program->kernels.at[i];
        const SpirvModuleInfo *module = &w->modules->at[i];
        AdxKernel record = {.name = package_string(w, kernel->name),
                            .local_size = kernel->local_size,
                            .subgroup = kernel->subgroup_size,
                            .shared_bytes = 4 * kernel_shared_words(kernel),
                            .params = kernel->params.len,
                            .first_word = package_count(w, ADX_SPIRV, sizeof(uint32_t)),
                            .words = module->count,
                            .features = module->needs};
        package_put(w, ADX_SPIRV, module->words, sizeof(uint32_t) * (size_t)module->count);
        package_put(w, ADX_KERNELS, &record, sizeof record);
    }
}

static void put_args(PackageWriter *w, const Dispatch *dispatch) {
    for (uint32_t i = 0; i < dispatch->args; i++) {
        const DispatchArg *arg = &dispatch->arg[i];
        AdxArg record = {.kind = arg->is_buffer ? ADX_ARG_BUFFER : ADX_ARG_SCALAR};
        if (arg->is_buffer) {
            record.buffer = arg->kind;
            record.index = arg->index;
            record.access = (arg->read ? ADX_READ : 0u) | (arg->write ? ADX_WRITE : 0u);
            record.offset = package_expr(w, arg->offset);
            record.bytes = package_expr(w, arg->bytes);
        } else {
            record.offset = package_expr(w, arg->scalar);
            record.bytes = ADX_NONE;
        }
        package_put(w, ADX_ARGS, &record, sizeof record);
    }
}

// The step's name, and which of its kernels it is where the kernel is not another step's too.
static uint32_t dispatch_label(PackageWriter *w, const Node *node, const Kernel *kernel) {
    size_t step = strlen(node->name);
    const char *part = kernel->name + step;
    bool own = strncmp(kernel->name, node->name, step) == 0 && *part == '.';
    return package_string(w, own && (part[1] < '0' || part[1] > '9') ? kernel->name : node->name);
}

static void put_dispatch(PackageWriter *w, const Dispatch *dispatch) {
    const Kernel *kernel = w->program->kernels.at[dispatch->kernel];
    const Node *node = graph_node(w->graph, dispatch->node);
    AdxDispatch record = {.kernel = dispatch->kernel,
                          .first_arg = package_count(w, ADX_ARGS, sizeof(AdxArg)),
                          .args = dispatch->args,
                          .barrier = dispatch->barrier,
                          .flops = package_expr(w, dispatch->flops),
                          .bytes = package_expr(w, dispatch->bytes),
                          .label = dispatch_label(w, node, kernel),
                          .file = package_string(w, w->graph->file),
                          .first_line = package_count(w, ADX_REFS, sizeof(uint32_t)),
                          .lines = kernel->lines.len};
    for (int i = 0; i < 3; i++) record.grid[i] = package_expr(w, dispatch->grid[i]);
    package_put(w, ADX_REFS, kernel->lines.at, sizeof(uint32_t) * (size_t)kernel->lines.len);
    put_args(w, dispatch);
    package_put(w, ADX_DISPATCHES, &record, sizeof record);
}

static void put_alternative(PackageWriter *w, const Alternative *alternative,
                            const LoweredAlternative *lowered) {
    Text text = {0};
    schedule_print(&alternative->schedule, &text);
    const FragmentShape *fragment = &alternative->fragment;
    AdxAlternative record = {
        .features = alternative->features,
        .shared_bytes = alternative->shared_bytes,
        .fragment_m = fragment->m,
        .fragment_n = fragment->n,
        .fragment_k = fragment->k,
        .fragment_ab = package_dtype(fragment->ab),
        .fragment_acc = package_dtype(fragment->acc),
        .first_condition = package_count(w, ADX_CONDITIONS, sizeof(AdxCondition)),
        .conditions = alternative->conditions,
        .first_dispatch = package_count(w, ADX_DISPATCHES, sizeof(AdxDispatch)),
        .dispatches = lowered->count,
        .schedule = package_string(w, text.data ? text.data : ""),
        .reason = package_string(w, alternative->reason ? alternative->reason : ""),
        .subgroup = alternative->schedule.subgroup};
    text_free(&text);
    for (uint32_t i = 0; i < alternative->conditions; i++) {
        const Condition *c = &alternative->condition[i];
        AdxCondition condition = {package_expr(w, c->left), package_expr(w, c->right), c->relation};
        package_put(w, ADX_CONDITIONS, &condition, sizeof condition);
    }
    package_put(w, ADX_ALTERNATIVES, &record, sizeof record);
    for (uint32_t i = 0; i < lowered->count; i++) {
        put_dispatch(w, &w->program->dispatches.at[lowered->first + i]);
    }
}

static uint32_t symbol_number(const DimTable *dims, Dim symbol) {
    for (uint32_t i = 0; i < dim_symbol_count(dims); i++) {
        if (dim_symbol_at(dims, i) == symbol) return i;
    }
    return ADX_NONE;
}

static void put_step(PackageWriter *w, const PlanStep *step, const LoweredStep *lowered) {
    AdxStep record = {.kind = ADX_STEP_END, .name = package_string(w, ""), .trip = ADX_NONE};
    if (!step->node) {
        package_put(w, ADX_STEPS, &record, sizeof record);
        return;
    }
    const Node *node = graph_node(w->graph, step->node);
    if (node->kind == NODE_REPEAT) {
        record.kind = ADX_STEP_REPEAT;
        record.trip = symbol_number(w->graph->dims, node->trip);
        record.lo = node->lo;
        record.hi = node->hi;
        package_put(w, ADX_STEPS, &record, sizeof record);
        return;
    }
    record.kind = ADX_STEP_RUN;
    record.name = package_string(w, node->name);
    record.first_alternative = package_count(w, ADX_ALTERNATIVES, sizeof(AdxAlternative));
    record.alternatives = lowered->alternatives.len;
    package_put(w, ADX_STEPS, &record, sizeof record);
    for (uint32_t i = 0; i < lowered->alternatives.len; i++) {
        put_alternative(w, &step->alternatives.at[i], &lowered->alternatives.at[i]);
    }
}

// What the unit's dispatches touch of the staging block, over all trips.
static uint64_t staging_bytes(const PackageWriter *w, const PrepareUnit *unit) {
    int64_t largest = 0;
    for (uint32_t i = unit->first; i < unit->first + unit->count; i++) {
        const LoweredStep *step = &w->program->prepare.at[i];
        for (uint32_t a = 0; a < step->alternatives.len; a++) {
            const LoweredAlternative *one = &step->alternatives.at[a];
            for (uint32_t d = one->first; d < one->first + one->count; d++) {
                const Dispatch *dispatch = &w->program->dispatches.at[d];
                for (uint32_t k = 0; k < dispatch->args; k++) {
                    const DispatchArg *arg = &dispatch->arg[k];
                    if (!arg->is_buffer || arg->kind != BUF_RAW) continue;
                    Dim end = dim_add(w->graph->dims, arg->offset, arg->bytes);
                    int64_t most = dim_bounds(w->graph->dims, end).hi;
                    if (most > largest) largest = most;
                }
            }
        }
    }
    return (uint64_t)largest;
}

// Weights that a unit needs are those whose unit number is its own; they need not be neighbours, so
// a unit's range spans all of them and the reader goes by AdxParam.unit.
static void put_units(PackageWriter *w) {
    const Plan *plan = w->program->plan;
    const Text *params = &w->section[ADX_PARAMS];
    for (uint32_t u = 0; u < plan->units.len; u++) {
        const PrepareUnit *unit = &plan->units.at[u];
        AdxUnit record = {
            .name = ADX_NONE, .first_step = plan->run.len + unit->first, .steps = unit->count};
        for (uint32_t i = 0; i < params->len / sizeof(AdxParam); i++) {
            const AdxParam *param = (const AdxParam *)(const void *)params->data + i;
            if (param->unit != u) continue;
            if (record.name == ADX_NONE) {
                record.name = param->key;
                record.first_param = i;
            }
            record.params = i + 1 - record.first_param;
        }
        record.raw_bytes = staging_bytes(w, unit);
        package_put(w, ADX_UNITS, &record, sizeof record);
    }
}

// As many dispatches, trips through empty repeats included, as readers take.
static bool count_launches(const PackageWriter *w) {
    const Program *program = w->program;
    uint64_t trips[ADX_NESTING_MAX + 1] = {1}, total = 0;
    uint32_t depth = 0;
    for (uint32_t i = 0; i < program->run.len && total <= ADX_LAUNCHES_MAX; i++) {
        const PlanStep *step = &program->plan->run.at[i];
        const Node *node = step->node ? graph_node(w->graph, step->node) : NULL;
        uint32_t most = 1;
        for (uint32_t a = 0; a < program->run.at[i].alternatives.len; a++)
            if (program->run.at[i].alternatives.at[a].count > most)
                most = program->run.at[i].alternatives.at[a].count;
        if (!node) {
            depth--;
        } else if (node->kind != NODE_REPEAT) {
            total += trips[depth] * most;
        } else if (depth == ADX_NESTING_MAX) {
            diag_error(w->diags, (Span){0}, "repeats nest deeper than %d", ADX_NESTING_MAX);
            return false;
        } else {
            trips[depth + 1] = trips[depth] * (uint64_t)(node->hi - node->lo);
            total += trips[++depth];
        }
    }
    if (total <= ADX_LAUNCHES_MAX) return true;
    diag_error(w->diags, (Span){0}, "a run has more than %d dispatches, trips of repeats included",
               ADX_LAUNCHES_MAX);
    return false;
}

bool package_steps(PackageWriter *w) {
    const Program *program = w->program;
    if (!count_launches(w)) return false;
    put_kernels(w);
    for (uint32_t i = 0; i < program->run.len; i++) {
        put_step(w, &program->plan->run.at[i], &program->run.at[i]);
    }
    for (uint32_t i = 0; i < program->prepare.len; i++) {
        put_step(w, &program->plan->prepare.at[i], &program->prepare.at[i]);
    }
    put_units(w);
    return true;
}
