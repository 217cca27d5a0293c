// Models on the Vulkan device against the evaluator: a text is compiled once, in process, and run
// for many dims, each output element compared under a bound.
//
// The device is the default one (ADEPT_DEVICE picks another) and is opened once a process. Every
// module goes through SPIRV-Tools; modules newer than the linked one are counted and listed by
// device_check_report. Anything wrong fails the cmocka test with the model's name, its text, the
// dims, the element and both values.
#pragma once

#include "ir/eval.h"
#include "ir/plan.h"

// How far from the evaluator's value an element may be: the sum of
typedef struct Bound {
    double ulps;     // of f32 at that value
    double absolute; // as it is
    double sums;     // times the value for the magnitudes of all inputs (sums of |a b|), in f32 eps
    double rounds;   // likewise, in eps of the output's dtype where that is f16 or bf16
    bool bits;       // the sign of zero counts too: for what is only moved
} Bound; // and one ulp of the output's dtype, where that is f16 or bf16 and the rest is not zero

typedef struct DeviceOptions {
    const char *disable;  // passes left out, "a,b", or NULL
    bool strict;          // --strict-rounding
    const char *winograd; // --winograd, or NULL
    const char *math;     // --math, or NULL
    const char *family;   // with schedule, as in CompileOptions
    const Schedule *schedule;
    bool eager;       // with device_eager_rates
    uint64_t staging; // bytes of raw weights while they are prepared; 0: as the runtime has it
} DeviceOptions;

// Gives a target rates under which passes around products change what they can: copies take no
// time, dispatches long, and reading along N is fast.
void device_eager_rates(Target *target);

typedef struct DeviceModel DeviceModel;

// The device's profile.
const Target *device_check_target(void);

// Compiles and loads; options may be NULL.
DeviceModel *device_model_open(const char *name, const char *text, const DeviceOptions *options);
void device_model_close(DeviceModel *model);
const Graph *device_model_graph(const DeviceModel *model); // as elaborated, before the passes
uint32_t device_model_kernels(const DeviceModel *model);
// Parts that the package's prepare program runs in with `staging` bytes, and how many the largest
// has.
uint32_t device_model_parts(const DeviceModel *model, uint64_t staging, uint64_t *largest);

// Runs for these dims (one a symbol of the graph) on data made from the seed, see device_sample,
// and returns the outputs as numbers, by output; they live until the next run.
const Tensor *device_model_run(DeviceModel *model, const int64_t *dims, uint64_t seed);
// Runs and compares with the evaluator; bound: one an output.
void device_model_check(DeviceModel *model, const int64_t *dims, uint64_t seed, const Bound *bound);

// The evaluator's value of an output for the same data. magnitudes: of all inputs' magnitudes;
// flushed: with f32 subnormals of inputs as zero, as devices may.
typedef struct Reference Reference;
Reference *reference_open(const Graph *graph, const int64_t *dims, uint64_t seed, bool strict,
                          bool magnitudes, bool flushed);
const Tensor *reference_output(const Reference *reference, uint32_t output);
void reference_close(Reference *reference);

// Element `index` of the data for an input, param or state called `name`. What its name begins with
// says what it holds; "_" and what follows only tells such names apart.
//   any    special values (zeros of both signs, infinities, NaN, subnormals, extremes of integers)
//          among numbers of all magnitudes
//   spike  -2..2, now and then an infinity or NaN
//   bits   any bit pattern of a float
//   turn   angles in -2^17..2^17, half of them in -32..32
//   pos    positive numbers of all magnitudes
//   wide   numbers of magnitudes 2^-6..2^6, products of which an f16 holds
//   far    numbers of magnitudes 2^-60..2^60
//   span   numbers of magnitudes 2^-14..2^14, 28 binades
//   rest   -1..1, two of three 0
//   pairs  each number twice, as elements 2 i and 2 i + 1
//   cancel likewise, the second negative and, of floats, larger by 2^-6
//   near   -10..10
//   unit   -1..1
//   tenth  multiples of 0.1, rounded
//   tiny   small integers, also as floats
//   index  -8..8, for gathers
// others: -2..2, integers -20..20.
double device_sample(const char *name, DType dtype, uint64_t seed, int64_t index);

// True where got is within the bound of want.
bool bound_holds(const Bound *bound, DType dtype, double got, double want, double sums);
double ulp_of(DType dtype, double value); // spacing of the dtype's numbers at value

// Prints how many modules were compiled, validated, and newer than SPIRV-Tools; for main.
void device_check_report(void);
