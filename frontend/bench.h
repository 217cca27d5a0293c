// `adept bench`: one op of a given shape and dtype, compiled, timed and checked on a device.
//
//   bench_data.c       operands, model text, what samples say
//   bench_run.c        compiles a case, times it, checks it
//   bench_gemm.c ..    the cases: model text, operands, reference
//   bench_file.c       whole models
//   cmd_bench.c        options, tables
//
// A case is compiled for the device it runs on. Its operands are rotated over several sets, so that
// the device's caches hold no more than a user's would, unless --warm. Sampled outputs are compared
// with sums in f64; a wrong result has no time.
#pragma once

#include "frontend/pipeline.h"
#include "frontend/random_data.h"
#include "runtime/adept.h"

enum { BENCH_OPERANDS_MAX = 8, BENCH_SHAPE_MAX = 8 };

typedef struct BenchOptions {
    PipelineOptions pipeline;
    const char *shape, *dtype, *b_layout, *epilogue, *schedule, *device;
    const char *weights, *random_weights;
    CliList dims;
    int64_t batch, sweep, sets, steps, kv_heads, keys;
    bool csv, list_schedules, warm, causal;
} BenchOptions;

typedef struct BenchOperand {
    const char *name;
    DType dtype;
    bool is_param;
    double scale; // standard deviation
    uint32_t rank;
    int64_t size[RANK_MAX];
    uint64_t elements;
    RandomRing ring;
} BenchOperand;

typedef struct BenchCase BenchCase;

// The value that one element of the result should have when operands come from `set`, and how far
// the device's may be from it.
typedef void BenchReference(const BenchCase *bench, uint32_t set, const int64_t *index,
                            double *wanted, double *bound);

struct BenchCase {
    const char *title;  // "gemm 512x1024x1024 f16 nk"
    const char *model;  // text; one output, "y"
    const char *family; // of the fused node whose schedule is shown and may be given
    BenchOperand operand[BENCH_OPERANDS_MAX];
    uint32_t operands;
    DType dtype; // of the result
    uint32_t rank;
    int64_t size[RANK_MAX];
    double flops, bytes; // of one run; flops 0: bytes are the figure
    BenchReference *reference;
    int64_t shape[BENCH_SHAPE_MAX]; // what the reference needs to know
    uint32_t variant;
    double amplified; // conv: how much larger than the direct form's the error may be; 0: none
    uint32_t points;  // elements checked in a set's result
};

// Appends an operand; returns its number.
uint32_t bench_operand(BenchCase *bench, const char *name, DType dtype, bool is_param, double scale,
                       uint32_t rank, const int64_t *size);
void bench_result(BenchCase *bench, DType dtype, uint32_t rank, const int64_t *size);
// Writes the model's text, `result` an expression of the operands, and counts bytes.
void bench_model(Arena *arena, BenchCase *bench, const char *result);
// Half a unit in the last place of a result of that dtype near `value`; 0 for integers.
double bench_rounding(DType dtype, double value);

// ---- bench_data.c ----------------------------------------------------------------------------

// The random numbers of all operands.
void bench_rings_open(RandomPool *pool, BenchCase *bench);
void bench_rings_close(BenchCase *bench);

double bench_value(const BenchCase *bench, uint32_t set, uint32_t operand, uint64_t element);
// Bytes [offset, offset + size) of an operand, whole elements.
void bench_fill(const BenchCase *bench, uint32_t set, uint32_t operand, uint64_t offset, void *out,
                uint64_t size);
// What samples say about a result.
typedef struct BenchError {
    double square, scale; // sums of squares of differences, and of what was wanted
    double worst;         // largest difference in bounds; above 1 the result is wrong
    double got, wanted;   // there
} BenchError;
void bench_error_add(BenchError *error, double got, double wanted, double bound);
double bench_error_relative(const BenchError *error); // RMS difference by RMS result
bool bench_error_within(const BenchError *error);

// ---- bench_run.c -----------------------------------------------------------------------------

typedef struct BenchDevice {
    Arena *arena;
    AdeptDevice *device;
    const BenchOptions *options;
    Target target;
    RandomPool pool;
    double worked; // when the device was last seen at work, by bench_clock()
} BenchDevice;

typedef struct BenchTimes {
    double median, least; // microseconds of one run
    uint32_t used;        // of the runs given, those that were timed: the first so many
} BenchTimes;

typedef struct BenchRow {
    BenchTimes times;
    BenchError error;
    char *schedule; // the arena's
    uint32_t steps; // dispatches of a run
    double flops, bytes;
} BenchRow;

int bench_fail(const AdeptError *error); // prints it; the CliExit for it
double bench_clock(void);                // nanoseconds of a clock that only goes forward
int bench_open(BenchDevice *bench, const BenchOptions *options);
void bench_close(BenchDevice *bench);

// Times runs as long as it takes for a median of 21 stretches after 0.3 s of warm-up (fewer, but 5,
// of runs so long that 21 take more than 20 s); three times, with work between, where that is
// short, and the least median is kept. `again`: the device has just been at work, so that less
// warm-up does.
int bench_time(AdeptDevice *device, const AdeptTimedRun *runs, uint32_t count, bool again,
               BenchTimes *times);

// A case's operands, kept on the device from one schedule to the next.
typedef struct BenchSets BenchSets;
BenchSets *bench_sets_open(BenchDevice *bench, BenchCase *made);
void bench_sets_close(BenchSets *sets);
// `forced` in place of the best schedule, unless NULL. CLI_CHECK and a message for a wrong result.
int bench_case(BenchSets *sets, const Schedule *forced, BenchRow *row);
// The candidates of the case's family, the best first, in an opened pipeline, which owns them.
int bench_candidates(BenchDevice *bench, const BenchCase *made, Pipeline *pipeline,
                     CandidateList *list);

// ---- the cases -------------------------------------------------------------------------------

// Fills a case for one --shape, as many sizes as the op takes. False: one line in `error`.
typedef bool BenchMaker(Arena *arena, const BenchOptions *options, DType dtype,
                        const int64_t *shape, BenchCase *out, Text *error);
typedef struct BenchOp {
    const char *name;
    const char *sizes;  // "MxNxK", how --shape is written
    const char *shapes; // what is timed without --shape
    BenchMaker *make;
} BenchOp;
BenchMaker bench_gemm, bench_linear, bench_conv, bench_conv_nhwc, bench_depthwise,
    bench_depthwise_nhwc, bench_attention, bench_softmax, bench_layer_norm, bench_rms_norm,
    bench_transpose, bench_map, bench_slice, bench_transpose_map;

// ---- bench_file.c ----------------------------------------------------------------------------

int bench_file(BenchDevice *bench, const char *path);
