#include "runtime/error.h"
#include "runtime/package.h"

#include <stdlib.h>
#include <string.h>

enum { PORTS_MAX = 1024, TRIPS_MAX = 4096, STRING_MAX = 1024, SPIRV_MAGIC = 0x07230203 };

// The record being checked, for the message.
typedef struct Check {
    Package *package;
    const char *file, *section;
    uint32_t record;
    AdeptError *error;
} Check;

static bool fail(const Check *check, const char *rule) {
    error_set(check->error, ADEPT_ERROR_FORMAT, "%s: %s %u: %s", check->file, check->section,
              check->record, rule);
    return false;
}

static bool in_range(uint32_t first, uint32_t count, uint32_t all) {
    return first <= all && count <= all - first;
}

static bool string(const Check *check, StrRef ref) {
    return ref < check->package->count[ADX_STRINGS] ||
           fail(check, "a string is outside its section");
}

static bool string_or_none(const Check *check, StrRef ref) {
    return ref == ADX_NONE || string(check, ref);
}

// An expression that depends on nothing of `forbidden`.
static bool expr(const Check *check, ExprRef ref, uint8_t forbidden) {
    const Package *package = check->package;
    if (ref >= package->count[ADX_EXPRS] || !package->expr_flags[ref])
        return fail(check, "an expression does not begin where one should");
    if (package->expr_flags[ref] & forbidden)
        return fail(check, "an expression depends on a dim that is not known there");
    return true;
}

static bool expr_or_none(const Check *check, ExprRef ref) {
    return ref == ADX_NONE || expr(check, ref, 0);
}

static uint32_t dtype_bytes(uint32_t dtype) {
    switch (dtype) {
#define BYTES(id, number, bytes)                                                                   \
    case number: return bytes;
        ADX_DTYPES(BYTES)
#undef BYTES
    default: return 0;
    }
}

// A constant shape whose elements fill `bytes`, at `offset` of a buffer of `room` bytes.
static bool fixed_tensor(const Check *check, uint32_t dtype, uint32_t rank, const uint64_t *size,
                         uint64_t offset, uint64_t bytes, uint64_t room) {
    uint64_t product = dtype_bytes(dtype);
    if (!product) return fail(check, "unknown dtype");
    if (rank > 8) return fail(check, "more than 8 sizes");
    for (uint32_t i = 0; i < rank; i++)
        if (__builtin_mul_overflow(product, size[i], &product)) return fail(check, "too large");
    if (product != bytes) return fail(check, "its shape and its bytes disagree");
    if (offset > room || bytes > room - offset) return fail(check, "it lies outside its buffer");
    return true;
}

static bool check_dim(const Check *check, const AdxDim *dim) {
    const Package *package = check->package;
    if (!string(check, dim->name)) return false;
    if (dim->source > ADX_DIM_TRIP) return fail(check, "unknown source");
    if (dim->lo > dim->hi) return fail(check, "its range is empty");
    if (dim->source != ADX_DIM_INPUT) return true;
    if (dim->input >= package->count[ADX_INPUTS]) return fail(check, "it names no input");
    uint32_t rank = package->inputs[dim->input].rank;
    return dim->axis < rank || fail(check, "it names no axis of its input");
}

static bool check_assert(const Check *check, const AdxAssert *assertion) {
    const Package *package = check->package;
    if (!expr(check, assertion->left, EXPR_TRIP) || !expr(check, assertion->right, EXPR_TRIP) ||
        !string(check, assertion->message) || !string_or_none(check, assertion->file))
        return false;
    if (assertion->relation > ADX_GE) return fail(check, "unknown relation");
    if (!in_range(assertion->first, assertion->count, package->count[ADX_REFS]))
        return fail(check, "its list is outside the section");
    for (uint32_t i = 0; i < assertion->count; i++)
        if (!expr(check, package->refs[assertion->first + i], EXPR_TRIP)) return false;
    return true;
}

static bool check_tensor(const Check *check, const AdxTensor *tensor) {
    if (!string(check, tensor->name)) return false;
    if (!dtype_bytes(tensor->dtype)) return fail(check, "unknown dtype");
    if (tensor->rank > 8) return fail(check, "more than 8 sizes");
    for (uint32_t i = 0; i < tensor->rank; i++)
        if (!expr(check, tensor->size[i], EXPR_TRIP)) return false;
    return expr(check, tensor->bytes, EXPR_TRIP);
}

static bool check_state(const Check *check, const AdxState *state) {
    if (!string(check, state->name)) return false;
    bool small = state->dtype == ADX_F8E4M3 || state->dtype == ADX_F8E5M2;
    if (small && state->fill != 0) return fail(check, "an f8 state begins at 0");
    if (state->offset % 16) return fail(check, "its offset does not divide by 16");
    return fixed_tensor(check, state->dtype, state->rank, state->size, state->offset, state->bytes,
                        check->package->model->state_bytes);
}

static bool check_param(const Check *check, const AdxParam *param) {
    const Package *package = check->package;
    if (!string(check, param->key) || !string_or_none(check, param->file)) return false;
    const char *key = package->strings + param->key;
    if (!*key || strnlen(key, STRING_MAX + 1) > STRING_MAX)
        return fail(check, "a key has 1 to 1,024 bytes");
    uint64_t room = package->model->param_bytes;
    if (param->packed > 1) return fail(check, "neither packed nor raw");
    if (!param->packed) {
        if (param->unit >= package->count[ADX_UNITS]) return fail(check, "it names no unit");
        const AdxUnit *unit = &package->units[param->unit];
        if (check->record < unit->first_param || check->record - unit->first_param >= unit->params)
            return fail(check, "it is not among the params of its unit");
        room = unit->raw_bytes;
    }
    return fixed_tensor(check, param->dtype, param->rank, param->size, param->offset, param->bytes,
                        room);
}

static bool check_kernel(const Check *check, const AdxKernel *kernel) {
    Package *package = check->package;
    if (!string(check, kernel->name)) return false;
    if (!in_range(kernel->first_word, kernel->words, package->count[ADX_SPIRV]))
        return fail(check, "its words lie outside the section");
    if (kernel->words < 5 || package->spirv[kernel->first_word] != SPIRV_MAGIC)
        return fail(check, "it is not SPIR-V");
    if (!kernel->local_size || kernel->local_size > 1024)
        return fail(check, "a workgroup has 1 to 1,024 invocations");
    if (kernel->params > 1024) return fail(check, "more than 1,024 parameters");
    uint32_t range = (kernel->params * 8 + ADX_BLOCK_ALIGN - 1) / ADX_BLOCK_ALIGN * ADX_BLOCK_ALIGN;
    if (range > package->block_range) package->block_range = range;
    return true;
}

static bool check_alternative(const Check *check, const AdxAlternative *alternative) {
    const Package *package = check->package;
    if (!in_range(alternative->first_condition, alternative->conditions,
                  package->count[ADX_CONDITIONS]) ||
        !in_range(alternative->first_dispatch, alternative->dispatches,
                  package->count[ADX_DISPATCHES]))
        return fail(check, "its list is outside the section");
    return string_or_none(check, alternative->schedule) &&
           string_or_none(check, alternative->reason);
}

static bool check_condition(const Check *check, const AdxCondition *condition) {
    if (condition->relation > ADX_GE) return fail(check, "unknown relation");
    return expr(check, condition->left, EXPR_HOST | EXPR_TRIP) &&
           expr(check, condition->right, EXPR_HOST | EXPR_TRIP);
}

static bool check_dispatch(const Check *check, const AdxDispatch *dispatch) {
    const Package *package = check->package;
    if (dispatch->kernel >= package->count[ADX_KERNELS]) return fail(check, "it names no kernel");
    if (!in_range(dispatch->first_arg, dispatch->args, package->count[ADX_ARGS]) ||
        !in_range(dispatch->first_line, dispatch->lines, package->count[ADX_REFS]))
        return fail(check, "its list is outside the section");
    if (dispatch->args != package->kernels[dispatch->kernel].params)
        return fail(check, "its arguments are not as many as the kernel's parameters");
    if (dispatch->barrier > 1) return fail(check, "unknown barrier");
    return expr(check, dispatch->grid[0], 0) && expr(check, dispatch->grid[1], 0) &&
           expr(check, dispatch->grid[2], 0) && expr_or_none(check, dispatch->flops) &&
           expr_or_none(check, dispatch->bytes) && string_or_none(check, dispatch->label) &&
           string_or_none(check, dispatch->file);
}

static bool check_arg(const Check *check, const AdxArg *arg) {
    const Package *package = check->package;
    if (arg->kind > ADX_ARG_SCALAR) return fail(check, "unknown kind");
    if (!expr(check, arg->offset, 0)) return false;
    if (arg->kind == ADX_ARG_SCALAR) return true;
    if (arg->buffer >= ADX_BUF_COUNT) return fail(check, "unknown buffer");
    if (!arg->access || arg->access > (ADX_READ | ADX_WRITE)) return fail(check, "unknown access");
    if ((arg->buffer == ADX_BUF_INPUT && arg->index >= package->count[ADX_INPUTS]) ||
        (arg->buffer == ADX_BUF_OUTPUT && arg->index >= package->count[ADX_OUTPUTS]))
        return fail(check, "it names no tensor");
    return expr(check, arg->bytes, 0);
}

static bool check_step(const Check *check, const AdxStep *step) {
    const Package *package = check->package;
    switch (step->kind) {
    case ADX_STEP_RUN:
        if (!string_or_none(check, step->name)) return false;
        if (!step->alternatives) return fail(check, "it has no alternative");
        return in_range(step->first_alternative, step->alternatives,
                        package->count[ADX_ALTERNATIVES]) ||
               fail(check, "its list is outside the section");
    case ADX_STEP_REPEAT:
        if (step->trip >= package->count[ADX_DIMS] ||
            package->dims[step->trip].source != ADX_DIM_TRIP)
            return fail(check, "it names no trip");
        return (step->lo >= 0 && step->lo <= step->hi && step->hi - step->lo <= TRIPS_MAX &&
                step->hi <= INT32_MAX) ||
               fail(check, "it has more than 4,096 trips or less than none");
    case ADX_STEP_END: return true;
    default: return fail(check, "unknown kind");
    }
}

// At least 1.
static uint32_t most_dispatches(const Package *package, const AdxStep *step) {
    uint32_t most = 1;
    for (uint32_t i = 0; i < step->alternatives; i++) {
        uint32_t count = package->alternatives[step->first_alternative + i].dispatches;
        if (count > most) most = count;
    }
    return most;
}

// Nesting of steps [first, first + count), and how many dispatches they can come to; a trip and a
// step count as one even where they dispatch nothing, so that the walk through them is bounded.
static bool check_program(Check *check, uint32_t first, uint32_t count, uint32_t *launches) {
    uint64_t trips[ADX_NESTING_MAX + 1] = {1}, total = 0;
    uint32_t depth = 0;
    check->section = "step";
    for (uint32_t i = first; i < first + count; i++) {
        const AdxStep *step = &check->package->steps[i];
        check->record = i;
        if (step->kind == ADX_STEP_REPEAT) {
            if (depth == ADX_NESTING_MAX) return fail(check, "repeats nest too deep");
            // Bounded: 4,096 times at most ADX_LAUNCHES_MAX.
            trips[depth + 1] = trips[depth] * (uint64_t)(step->hi - step->lo);
            total += trips[++depth];
            if (total > ADX_LAUNCHES_MAX) return fail(check, "too many trips");
        } else if (step->kind == ADX_STEP_END) {
            if (!depth) return fail(check, "a repeat ends that did not begin");
            depth--;
        } else {
            total += trips[depth] * most_dispatches(check->package, step);
            if (total > ADX_LAUNCHES_MAX) return fail(check, "more than 1,000,000 dispatches");
        }
    }
    if (depth) return fail(check, "a repeat does not end");
    if (total > *launches) *launches = (uint32_t)total;
    return true;
}

static bool check_units(Check *check) {
    Package *package = check->package;
    for (uint32_t i = 0; i < package->count[ADX_UNITS]; i++) {
        const AdxUnit *unit = &package->units[i];
        check->section = "unit";
        check->record = i;
        if (!string_or_none(check, unit->name)) return false;
        if (!in_range(unit->first_step, unit->steps, package->count[ADX_STEPS]) ||
            !in_range(unit->first_param, unit->params, package->count[ADX_PARAMS]) ||
            unit->first_step < package->model->run_steps)
            return fail(check, "its list is outside the section");
        if (!check_program(check, unit->first_step, unit->steps, &package->unit_launches))
            return false;
    }
    return true;
}

static bool check_model(Check *check) {
    Package *package = check->package;
    check->section = "model";
    if (package->count[ADX_MODEL] != 1) return fail(check, "there is not exactly one");
    const AdxModelInfo *model = package->model;
    if (package->count[ADX_INPUTS] > PORTS_MAX || package->count[ADX_OUTPUTS] > PORTS_MAX)
        return fail(check, "more than 1,024 inputs or outputs");
    if (package->count[ADX_DIMS] > 256) return fail(check, "more than 256 dims");
    if (package->count[ADX_STRINGS] && package->strings[package->count[ADX_STRINGS] - 1])
        return fail(check, "the strings do not end in NUL");
    if (package->count[ADX_CONSTS] > model->const_bytes)
        return fail(check, "more constants than room for them");
    if (model->run_steps > package->count[ADX_STEPS])
        return fail(check, "more steps of the run than steps");
    return string(check, model->name) && string_or_none(check, model->file) &&
           string_or_none(check, model->target);
}

static bool check_exprs(Check *check) {
    Package *package = check->package;
    uint32_t size = package->count[ADX_EXPRS];
    check->section = "expression at byte";
    package->expr_flags = calloc(size + 1u, 1);
    if (!package->expr_flags) {
        error_memory(check->error);
        return false;
    }
    size_t at = 0;
    if (expr_check_all(package->exprs, size, package->dims, package->count[ADX_DIMS],
                       package->expr_flags, &at))
        return true;
    check->record = (uint32_t)at;
    return fail(check, "not an expression");
}

// Dims come first: expressions and all other records name them.
static bool check_all(Check *check) {
    Package *package = check->package;
    if (!check_model(check)) return false;
#define EACH(id, word, member, function)                                                           \
    check->section = word;                                                                         \
    for (uint32_t i = 0; i < package->count[ADX_##id]; i++) {                                      \
        check->record = i;                                                                         \
        if (!function(check, &package->member[i])) return false;                                   \
    }
    EACH(DIMS, "dim", dims, check_dim)
    if (!check_exprs(check)) return false;
    EACH(ASSERTS, "assert", asserts, check_assert)
    EACH(INPUTS, "input", inputs, check_tensor)
    EACH(OUTPUTS, "output", outputs, check_tensor)
    EACH(STATES, "state", states, check_state)
    EACH(KERNELS, "kernel", kernels, check_kernel)
    EACH(ALTERNATIVES, "alternative", alternatives, check_alternative)
    EACH(CONDITIONS, "condition", conditions, check_condition)
    EACH(DISPATCHES, "dispatch", dispatches, check_dispatch)
    EACH(ARGS, "argument", args, check_arg)
    EACH(STEPS, "step", steps, check_step)
    if (!check_program(check, 0, package->model->run_steps, &package->run_launches) ||
        !check_units(check))
        return false;
    EACH(PARAMS, "param", params, check_param)
#undef EACH
    check->section = "model";
    check->record = 0;
    return expr(check, package->model->arena_bytes, EXPR_TRIP);
}

AdeptResult package_check(Package *package, const char *file, AdeptError *error) {
    AdeptError local;
    Check check = {package, file, "", 0, error ? error : &local};
    return check_all(&check) ? ADEPT_OK : check.error->result;
}
