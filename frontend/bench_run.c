// Compiles a case for the device, times it, checks it.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "codegen/package_writer.h"
#include "frontend/bench.h"
#include "frontend/targets.h"
#include "ir/number.h"

enum {
    SETS_MAX = 64,       // of operands
    PARAM_SETS_MAX = 16, // models, each with weights of its own
    SAMPLES = 21,        // stretches that a median is of
    WINDOWS = 3,         // medians, with work between them; the least counts
    SAMPLES_LEAST = 5,   // where a run takes longer than `patience` allows
    WARM_MOST = 5000,    // stretches of warm-up
    PART = 4 << 20       // bytes written at once
};
static const double set_bytes = 256 << 20;  // more than any cache holds
static const double warm_up = 0.3e9;        // nanoseconds; a processor's clock needs less
static const double warm_up_again = 0.08e9; // soon after other work, or between two windows
static const double idle = 0.02e9;          // after which a device is kept awake
static const double soon = 0.2e9;
static const double warm_up_software = 0.02e9;
static const double stretch = 200e3;  // nanoseconds, at least
static const double patience = 20e9;  // nanoseconds
static const double submission = 1e9; // nanoseconds, about the most for one

int bench_fail(const AdeptError *error) {
    CliExit code = CLI_INPUT;
    switch (error->result) {
    case ADEPT_ERROR_NO_DEVICE:
    case ADEPT_ERROR_DEVICE_LOST:
    case ADEPT_ERROR_DEVICE_MEMORY:
    case ADEPT_ERROR_VULKAN:
    case ADEPT_ERROR_FEATURE: code = CLI_DEVICE; break;
    default: break;
    }
    Text text = {0};
    text_printf(&text, "%s: %s", adept_result_string(error->result), error->detail);
    (void)cli_fail(code, text.data);
    text_free(&text);
    return code;
}

double bench_clock(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

int bench_open(BenchDevice *bench, const BenchOptions *options) {
    AdeptError error = {0};
    *bench = (BenchDevice){.arena = arena_create(), .options = options};
    if (adept_device_open(options->device, &bench->device, &error) != ADEPT_OK)
        return bench_fail(&error);
    target_of_device(bench->device, &bench->target);
    return CLI_OK;
}

void bench_close(BenchDevice *bench) {
    adept_device_close(bench->device);
    random_pool_close(&bench->pool);
    arena_destroy(bench->arena);
    *bench = (BenchDevice){0};
}

// ---- time ------------------------------------------------------------------------------------

static int compare_times(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static uint32_t within(double wanted, uint32_t most) {
    return wanted < 1 ? 1 : wanted > most ? most : (uint32_t)wanted;
}

// What one run takes, in nanoseconds, and how many make a stretch. The first runs of all are slow,
// so short ones are looked at again.
static int probe(AdeptDevice *device, const AdeptTimedRun *runs, uint32_t count, double *one,
                 uint32_t *repeats) {
    uint64_t spent[3];
    AdeptError error = {0};
    for (uint32_t i = 0; i < 4 && (i == 0 || *one < 250 * stretch); i++) {
        uint32_t samples = i == 0 ? 1 : 3;
        if (adept_device_time(device, runs, count, *repeats, samples, spent, &error) != ADEPT_OK)
            return bench_fail(&error);
        *one = fmax((double)spent[samples - 1], 1) / *repeats;
        *repeats = within(ceil(stretch / *one), 1000);
    }
    return CLI_OK;
}

typedef struct Timing {
    AdeptDevice *device;
    const AdeptTimedRun *runs;
    uint32_t count, repeats, at_once; // runs of a stretch, stretches of a submission
    uint64_t *spent;
} Timing;

static int time_stretches(const Timing *t, uint32_t stretches) {
    AdeptError error = {0};
    for (uint32_t have = 0; have < stretches; have += t->at_once) {
        uint32_t now = stretches - have < t->at_once ? stretches - have : t->at_once;
        if (adept_device_time(t->device, t->runs, t->count, t->repeats, now, t->spent + have,
                              &error) != ADEPT_OK)
            return bench_fail(&error);
    }
    return CLI_OK;
}

// A device's clock can fall for a while, so the least of some medians is taken.
static int time_windows(const Timing *t, uint32_t first, uint32_t between, uint32_t samples,
                        uint32_t windows, BenchTimes *times) {
    int code = CLI_OK;
    for (uint32_t w = 0; code == CLI_OK && w < windows; w++) {
        uint32_t before = w ? between : first;
        code = time_stretches(t, before + samples);
        if (code != CLI_OK) break;
        qsort(t->spent + before, samples, sizeof *t->spent, compare_times);
        double median = (double)t->spent[before + samples / 2] / t->repeats * 1e-3;
        double least = (double)t->spent[before] / t->repeats * 1e-3;
        if (w == 0 || median < times->median) times->median = median;
        if (w == 0 || least < times->least) times->least = least;
    }
    return code;
}

int bench_time(AdeptDevice *device, const AdeptTimedRun *runs, uint32_t count, bool again,
               BenchTimes *times) {
    Timing t = {.device = device, .runs = runs, .count = count, .repeats = 1};
    double one = 1;
    int code = probe(device, runs, count, &one, &t.repeats);
    if (code != CLI_OK) return code;
    one *= t.repeats;
    bool software = adept_device_info(device)->kind == ADEPT_DEVICE_SOFTWARE;
    double warm = software ? warm_up_software : again ? warm_up_again : warm_up;
    uint32_t before = within(ceil(warm / one), WARM_MOST),
             between = within(ceil(warm_up_again / one), WARM_MOST),
             samples = within(patience / one, SAMPLES);
    if (samples < SAMPLES_LEAST) samples = SAMPLES_LEAST;
    uint32_t windows = software || samples * one > warm_up ? 1 : WINDOWS;
    uint32_t most = (windows > 1 && between > before ? between : before) + samples;
    t.at_once = within(submission / one, most);
    t.spent = memory_or_exit(malloc(most * sizeof *t.spent));
    *times = (BenchTimes){0};
    code = time_windows(&t, before, between, samples, windows, times);
    uint64_t in_turn = (uint64_t)t.repeats * t.at_once;
    times->used = in_turn < count ? (uint32_t)in_turn : count;
    free(t.spent);
    return code;
}

// ---- compiling -------------------------------------------------------------------------------

static int open_pipeline(BenchDevice *bench, const BenchCase *made, const Schedule *forced,
                         Pipeline *pipeline) {
    PipelineOptions options = bench->options->pipeline;
    options.family = forced ? made->family : NULL;
    options.schedule = forced;
    bool good = pipeline_open(pipeline, &options, options.target ? NULL : &bench->target) &&
                pipeline_load_text(pipeline, made->title, made->model, strlen(made->model)) &&
                pipeline_reach(pipeline, TEXT_PLAN);
    int code = pipeline_report(pipeline);
    return good || code != CLI_OK ? code : CLI_INPUT;
}

static const PlanStep *find_step(const Plan *plan, const char *family) {
    for (uint32_t i = 0; i < plan->run.len; i++) {
        const PlanStep *step = &plan->run.at[i];
        if (!step->node) continue;
        const Node *node = graph_node(plan->graph, step->node);
        if (node->kind == NODE_FUSED && strcmp(node->family, family) == 0) return step;
    }
    return NULL;
}

static bool has_fragment(const Target *target, const FragmentShape *wanted) {
    for (uint32_t i = 0; i < target->fragments; i++)
        if (memcmp(&target->fragment[i], wanted, sizeof *wanted) == 0) return true;
    return wanted->m == 0;
}

// Shapes are constant, so what the device has decides.
static const Alternative *taken(const PlanStep *step, const Target *target) {
    for (uint32_t i = 0; i + 1 < step->alternatives.len; i++) {
        const Alternative *a = &step->alternatives.at[i];
        if ((a->features & target->features) == a->features &&
            a->shared_bytes <= target->shared_bytes && has_fragment(target, &a->fragment))
            return a;
    }
    return &step->alternatives.at[step->alternatives.len - 1];
}

static int compile(BenchDevice *bench, const BenchCase *made, const Schedule *forced, Text *package,
                   BenchRow *row) {
    Pipeline pipeline;
    int code = open_pipeline(bench, made, forced, &pipeline);
    if (code == CLI_OK) {
        const PlanStep *step = find_step(pipeline.plan, made->family);
        Text text = {0};
        if (step) schedule_print(&taken(step, &bench->target)->schedule, &text);
        row->schedule = arena_strdup(bench->arena, text.data ? text.data : "");
        row->steps = pipeline.plan->run.len;
        text_free(&text);
        if (!pipeline_package(&pipeline, true, package)) {
            code = pipeline_report(&pipeline);
            if (code == CLI_OK) code = CLI_INPUT;
        }
    }
    pipeline_close(&pipeline);
    return code;
}

int bench_candidates(BenchDevice *bench, const BenchCase *made, Pipeline *pipeline,
                     CandidateList *list) {
    int code = open_pipeline(bench, made, NULL, pipeline);
    if (code != CLI_OK) return code;
    const PlanStep *step = find_step(pipeline->plan, made->family);
    *list = (CandidateList){0};
    CompileOptions options = pipeline_compile_options(pipeline);
    if (step) *list = plan_candidates(pipeline->plan, step->node, &options);
    return CLI_OK;
}

// ---- on the device ---------------------------------------------------------------------------

// One set of operands with the room for its result.
typedef struct Set {
    AdeptModel *model; // NULL: the first set's
    AdeptSession *session;
    AdeptBuffer *buffer;
    AdeptTensor inputs[BENCH_OPERANDS_MAX], output;
    uint32_t number;
} Set;

typedef struct BenchSets {
    BenchDevice *bench;
    BenchCase *made;
    Set set[SETS_MAX];
    AdeptTimedRun runs[SETS_MAX];
    uint32_t count, filled; // sets with sessions; with operands
} Sets;

static uint64_t operand_bytes(const BenchOperand *operand) {
    return operand->elements * dtype_bytes(operand->dtype);
}

static uint64_t result_bytes(const BenchCase *made) {
    uint64_t bytes = dtype_bytes(made->dtype);
    for (uint32_t i = 0; i < made->rank; i++) bytes *= (uint64_t)made->size[i];
    return bytes;
}

static bool has_params(const BenchCase *made) {
    for (uint32_t i = 0; i < made->operands; i++)
        if (made->operand[i].is_param) return true;
    return false;
}

static uint32_t set_count(const BenchDevice *bench, const BenchCase *made) {
    if (bench->options->warm) return 1;
    if (bench->options->sets > 0) return within((double)bench->options->sets, SETS_MAX);
    double bytes = (double)result_bytes(made);
    for (uint32_t i = 0; i < made->operands; i++) bytes += (double)operand_bytes(&made->operand[i]);
    return within(ceil(set_bytes / bytes), has_params(made) ? PARAM_SETS_MAX : SETS_MAX);
}

typedef struct Reader {
    const BenchCase *made;
    uint32_t set;
} Reader;

static bool read_weight(void *user, const AdeptPortInfo *param, uint64_t offset, void *data,
                        uint64_t size) {
    const Reader *reader = user;
    for (uint32_t i = 0; i < reader->made->operands; i++) {
        if (strcmp(reader->made->operand[i].name, param->name) != 0) continue;
        bench_fill(reader->made, reader->set, i, offset, data, size);
        return true;
    }
    return false;
}

// Each set has a model of its own where weights differ.
static AdeptResult open_model(Sets *sets, Set *set, const Text *package, AdeptError *error) {
    AdeptModel *model = sets->set[0].model;
    AdeptResult result = ADEPT_OK;
    if (!model || has_params(sets->made)) {
        Reader reader = {sets->made, set->number};
        result = adept_model_open_memory(sets->bench->device, package->data, package->len, NULL,
                                         &set->model, error);
        if (!result && has_params(sets->made))
            result = adept_model_bind_reader(set->model, read_weight, &reader, error);
        model = set->model;
    } else {
        set->session = sets->set[0].session;
    }
    if (!result && !set->session) result = adept_session_open(model, &set->session, error);
    return result;
}

static AdeptResult write_operand(const BenchCase *made, const Set *set, uint32_t operand,
                                 uint64_t at, AdeptError *error) {
    uint64_t size = operand_bytes(&made->operand[operand]);
    uint8_t *part = memory_or_exit(malloc(size < PART ? size + 1 : PART));
    AdeptResult result = ADEPT_OK;
    for (uint64_t done = 0; !result && done < size; done += PART) {
        uint64_t now = size - done < PART ? size - done : PART;
        bench_fill(made, set->number, operand, done, part, now);
        result = adept_buffer_write(set->buffer, at + done, part, now, error);
    }
    free(part);
    return result;
}

// So that what no kernel wrote is seen.
static AdeptResult spoil_result(const BenchCase *made, const Set *set, AdeptError *error) {
    uint64_t size = result_bytes(made);
    uint8_t *part = memory_or_exit(malloc(PART));
    memset(part, 0xFF, PART);
    AdeptResult result = ADEPT_OK;
    for (uint64_t done = 0; !result && done < size; done += PART)
        result = adept_buffer_write(set->buffer, set->output.offset + done, part,
                                    size - done < PART ? size - done : PART, error);
    free(part);
    return result;
}

static uint64_t rounded_up(uint64_t bytes) {
    return (bytes + 255) / 256 * 256;
}

static AdeptResult fill_set(Sets *sets, Set *set, AdeptError *error) {
    const BenchCase *made = sets->made;
    uint64_t size = rounded_up(result_bytes(made)), at = 0;
    uint32_t inputs = 0;
    for (uint32_t i = 0; i < made->operands; i++)
        if (!made->operand[i].is_param) size += rounded_up(operand_bytes(&made->operand[i]));
    AdeptResult result = ADEPT_OK;
    if (!set->buffer) result = adept_buffer_create(sets->bench->device, size, &set->buffer, error);
    for (uint32_t i = 0; !result && i < made->operands; i++) {
        const BenchOperand *operand = &made->operand[i];
        if (operand->is_param) continue;
        AdeptTensor *tensor = &set->inputs[inputs++];
        *tensor = (AdeptTensor){.name = operand->name,
                                .dtype = (AdeptDType)package_dtype(operand->dtype),
                                .rank = operand->rank,
                                .buffer = set->buffer,
                                .offset = at,
                                .size = operand_bytes(operand)};
        memcpy(tensor->shape, operand->size, operand->rank * sizeof *operand->size);
        if (set->number >= sets->filled) result = write_operand(made, set, i, at, error);
        at += rounded_up(operand_bytes(operand));
    }
    set->output = (AdeptTensor){.name = "y",
                                .dtype = (AdeptDType)package_dtype(made->dtype),
                                .buffer = set->buffer,
                                .offset = at,
                                .size = result_bytes(made)};
    if (!result) result = spoil_result(made, set, error);
    sets->runs[set->number] = (AdeptTimedRun){set->session, set->inputs, &set->output, inputs, 1};
    return result;
}

static int open_sets(Sets *sets, const Text *package) {
    AdeptError error = {0};
    uint32_t wanted = set_count(sets->bench, sets->made);
    for (; sets->count < wanted; sets->count++) {
        Set *set = &sets->set[sets->count];
        set->number = sets->count;
        AdeptResult result = open_model(sets, set, package, &error);
        if (!result) result = fill_set(sets, set, &error);
        if (result) return bench_fail(&error);
    }
    sets->filled = sets->count;
    return CLI_OK;
}

// All but the operands.
static void close_models(Sets *sets) {
    for (uint32_t i = 0; i < SETS_MAX; i++)
        if (i == 0 || sets->set[i].model) adept_session_close(sets->set[i].session);
    for (uint32_t i = 0; i < SETS_MAX; i++) {
        Set *set = &sets->set[i];
        adept_model_close(set->model);
        set->model = NULL, set->session = NULL;
    }
    sets->count = 0;
}

// ---- checking --------------------------------------------------------------------------------

// The corners first, then anywhere.
static void pick_point(const BenchCase *made, uint32_t point, int64_t *index) {
    for (uint32_t axis = 0; axis < made->rank; axis++) {
        uint64_t number = random_number((uint64_t)point << 8 | axis);
        index[axis] = (int64_t)(number % (uint64_t)made->size[axis]);
        if (point < 1u << made->rank && point < made->points / 2)
            index[axis] = point >> axis & 1 ? made->size[axis] - 1 : 0;
    }
}

// A device that waits for long while the host computes what is wanted lowers its clock.
static int keep_awake(const Sets *sets, const Set *set) {
    BenchDevice *bench = sets->bench;
    uint64_t spent;
    AdeptError error = {0};
    if (bench_clock() - bench->worked < idle) return CLI_OK;
    if (adept_device_time(bench->device, &sets->runs[set->number], 1, 1, 1, &spent, &error) !=
        ADEPT_OK)
        return bench_fail(&error);
    bench->worked = bench_clock();
    return CLI_OK;
}

static int check_set(const Sets *sets, const Set *set, BenchError *errors) {
    const BenchCase *made = sets->made;
    unsigned bytes = dtype_bytes(made->dtype);
    for (uint32_t point = 0; point < made->points; point++) {
        int64_t index[RANK_MAX];
        uint64_t element = 0;
        uint8_t stored[8];
        double wanted, bound;
        AdeptError error = {0};
        pick_point(made, point, index);
        for (uint32_t axis = 0; axis < made->rank; axis++)
            element = element * (uint64_t)made->size[axis] + (uint64_t)index[axis];
        if (adept_buffer_read(set->buffer, set->output.offset + element * bytes, stored, bytes,
                              &error) != ADEPT_OK)
            return bench_fail(&error);
        made->reference(made, set->number, index, &wanted, &bound);
        bench_error_add(errors, number_load(made->dtype, stored), wanted, bound);
        int code = keep_awake(sets, set);
        if (code != CLI_OK) return code;
    }
    return CLI_OK;
}

// The results of the first and the last of `used` sets.
static int check(const Sets *sets, uint32_t used, BenchError *errors) {
    int code = check_set(sets, &sets->set[0], errors);
    if (code == CLI_OK && used > 1) code = check_set(sets, &sets->set[used - 1], errors);
    if (code != CLI_OK || bench_error_within(errors)) return code;
    Text text = {0};
    text_printf(&text, "%s: wrong result: %.9g, %.9g is wanted, %.3g times what may differ",
                sets->made->title, errors->got, errors->wanted, errors->worst);
    code = cli_fail(CLI_CHECK, text.data);
    text_free(&text);
    return code;
}

BenchSets *bench_sets_open(BenchDevice *bench, BenchCase *made) {
    Sets *sets = memory_or_exit(calloc(1, sizeof *sets));
    *sets = (Sets){.bench = bench, .made = made};
    bench_rings_open(&bench->pool, made);
    return sets;
}

void bench_sets_close(BenchSets *sets) {
    for (uint32_t i = 0; i < SETS_MAX; i++) adept_buffer_destroy(sets->set[i].buffer);
    bench_rings_close(sets->made);
    free(sets);
}

int bench_case(BenchSets *sets, const Schedule *forced, BenchRow *row) {
    BenchDevice *bench = sets->bench;
    Text package = {0};
    *row = (BenchRow){.flops = sets->made->flops, .bytes = sets->made->bytes};
    int code = compile(bench, sets->made, forced, &package, row);
    if (code == CLI_OK) {
        code = open_sets(sets, &package);
        bool again = bench->worked > 0 && bench_clock() - bench->worked < soon;
        if (code == CLI_OK)
            code = bench_time(bench->device, sets->runs, sets->count, again, &row->times);
        bench->worked = bench_clock();
        if (code == CLI_OK) code = check(sets, row->times.used, &row->error);
        close_models(sets);
    }
    text_free(&package);
    return code;
}
