// adept inspect PACKAGE: what a package holds, dispatch by dispatch.
#include <inttypes.h>
#include <string.h>

#include "frontend/commands.h"
#include "ir/target.h"
#include "runtime/adept.h"
#include "runtime/package.h"
#include "runtime/prepare.h"

typedef struct Options {
    bool graph, args, weights;
} Options;

static const CliOption options_table[] = {
    {"graph", 0, CLI_FLAG, offsetof(Options, graph), NULL, "Print only the model's graph"},
    {"args", 0, CLI_FLAG, offsetof(Options, args), NULL, "List what every dispatch touches"},
    {"weights", 0, CLI_FLAG, offsetof(Options, weights), NULL, "List the weights"},
    {0},
};

// ---- expressions, from bytecode to the language's syntax -------------------------------------

enum { PREC_SUM = 1, PREC_PRODUCT, PREC_ATOM };

typedef struct Operand {
    char *text;
    int precedence;
} Operand;

static Operand join(Arena *arena, Operand left, Operand right, const char *between,
                    int precedence) {
    // The right side of //, % and - binds tighter than the operator.
    const char *format = left.precedence < precedence ? "(%s)%s%s" : "%s%s%s";
    bool wrap = right.precedence < precedence ||
                (right.precedence == precedence && precedence == PREC_PRODUCT);
    if (precedence == PREC_SUM && right.text[0] == '-') {
        between = " - ";
        right.text++;
    }
    char *inner = wrap ? arena_printf(arena, "(%s)", right.text) : right.text;
    return (Operand){arena_printf(arena, format, left.text, between, inner), precedence};
}

static const char *expr_text(Arena *arena, const Package *package, ExprRef ref) {
    if (ref == ADX_NONE) return "none";
    Operand stack[ADX_STACK_MAX];
    unsigned depth = 0;
    for (const uint8_t *code = package->exprs + ref; *code != ADX_END; code++) {
        if (*code == ADX_CONST) {
            int64_t value;
            memcpy(&value, code + 1, sizeof value);
            code += sizeof value;
            stack[depth++] = (Operand){arena_printf(arena, "%" PRId64, value), PREC_ATOM};
            continue;
        }
        if (*code == ADX_SYMBOL) {
            const AdxDim *dim = &package->dims[*++code];
            stack[depth++] =
                (Operand){arena_strdup(arena, package_string(package, dim->name)), PREC_ATOM};
            continue;
        }
        Operand right = stack[--depth], left = stack[--depth], *top = &stack[depth++];
        switch (*code) {
        case ADX_ADD: *top = join(arena, left, right, " + ", PREC_SUM); break;
        case ADX_MUL: *top = join(arena, left, right, " * ", PREC_PRODUCT); break;
        case ADX_FLOOR_DIV: *top = join(arena, left, right, " // ", PREC_PRODUCT); break;
        case ADX_FLOOR_MOD: *top = join(arena, left, right, " % ", PREC_PRODUCT); break;
        default: {
            const char *name = *code == ADX_MIN ? "minimum" : "maximum";
            *top = (Operand){arena_printf(arena, "%s(%s, %s)", name, left.text, right.text),
                             PREC_ATOM};
        }
        }
    }
    return stack[0].text;
}

// ---- sections --------------------------------------------------------------------------------

static void print_dims(const Package *package, Text *out) {
    for (uint32_t i = 0; i < package->count[ADX_DIMS]; i++) {
        const AdxDim *dim = &package->dims[i];
        if (dim->source == ADX_DIM_TRIP) continue;
        text_printf(out, "dim %s in %" PRId64 "..=%" PRId64, package_string(package, dim->name),
                    dim->lo, dim->hi);
        if (dim->source == ADX_DIM_INPUT)
            text_printf(out, ", axis %u of %s\n", dim->axis,
                        package_string(package, package->inputs[dim->input].name));
        else
            text_put(out, ", set by the host\n");
    }
}

static void print_tensors(Arena *arena, const Package *package, const char *kind,
                          const AdxTensor *tensors, uint32_t count, Text *out) {
    for (uint32_t i = 0; i < count; i++) {
        const AdxTensor *tensor = &tensors[i];
        text_printf(out, "%s %s : [", kind, package_string(package, tensor->name));
        for (uint32_t axis = 0; axis < tensor->rank; axis++)
            text_printf(out, "%s%s", axis ? ", " : "",
                        expr_text(arena, package, tensor->size[axis]));
        text_printf(out, "] %s\n", adept_dtype_name((AdeptDType)tensor->dtype));
    }
}

static void print_sizes(const uint64_t *size, uint32_t rank, Text *out) {
    text_put(out, "[");
    for (uint32_t axis = 0; axis < rank; axis++)
        text_printf(out, "%s%" PRIu64, axis ? ", " : "", size[axis]);
    text_put(out, "]");
}

static void print_states(const Package *package, Text *out) {
    for (uint32_t i = 0; i < package->count[ADX_STATES]; i++) {
        const AdxState *state = &package->states[i];
        text_printf(out, "state %s : ", package_string(package, state->name));
        print_sizes(state->size, state->rank, out);
        text_printf(out, " %s\n", adept_dtype_name((AdeptDType)state->dtype));
    }
}

static void print_weights(const Package *package, bool list, Text *out) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < package->count[ADX_PARAMS]; i++) {
        const AdxParam *param = &package->params[i];
        bytes += param->bytes;
        if (!list) continue;
        text_printf(out, "weight %s : ", package_string(package, param->key));
        print_sizes(param->size, param->rank, out);
        text_printf(out, " %s, ", adept_dtype_name((AdeptDType)param->dtype));
        if (param->packed)
            text_put(out, "as stored\n");
        else
            text_printf(out, "prepared by unit %u\n", param->unit);
    }
    text_printf(out, "%u weights of %" PRIu64 " bytes, %" PRIu64 " once prepared\n",
                package->count[ADX_PARAMS], bytes, package->model->param_bytes);
}

static void print_kernels(const Package *package, Text *out) {
    for (uint32_t i = 0; i < package->count[ADX_KERNELS]; i++) {
        const AdxKernel *kernel = &package->kernels[i];
        text_printf(out, "kernel %u %s: local %u, shared %u bytes, %u parameters, %u words", i,
                    package_string(package, kernel->name), kernel->local_size, kernel->shared_bytes,
                    kernel->params, kernel->words);
        if (kernel->subgroup) text_printf(out, ", subgroups of %u", kernel->subgroup);
        for (unsigned bit = 0; target_feature_name(bit); bit++)
            if (kernel->features >> bit & 1) text_printf(out, ", %s", target_feature_name(bit));
        text_put(out, "\n");
    }
}

// ---- programs --------------------------------------------------------------------------------

typedef struct Count {
    uint32_t dispatches, barriers;
} Count;

static void print_args(Arena *arena, const Package *package, const AdxDispatch *dispatch,
                       Text *out) {
    static const char *const buffers[] = {"input", "output", "param", "state",
                                          "const", "arena",  "raw"};
    for (uint32_t i = 0; i < dispatch->args; i++) {
        const AdxArg *arg = &package->args[dispatch->first_arg + i];
        const char *value = expr_text(arena, package, arg->offset);
        if (arg->kind == ADX_ARG_SCALAR) {
            text_printf(out, "        scalar %s\n", value);
            continue;
        }
        text_printf(out, "        %s%s %s", arg->access & ADX_READ ? "r" : "",
                    arg->access & ADX_WRITE ? "w" : "", buffers[arg->buffer]);
        if (arg->buffer == ADX_BUF_INPUT || arg->buffer == ADX_BUF_OUTPUT)
            text_printf(out, " %u", arg->index);
        text_printf(out, " at %s, %s bytes\n", value, expr_text(arena, package, arg->bytes));
    }
}

static void print_dispatch(Arena *arena, const Package *package, const AdxDispatch *dispatch,
                           bool args, Text *out) {
    text_printf(out, "    %s kernel %u %s, grid %s x %s x %s", dispatch->barrier ? "|" : " ",
                dispatch->kernel, package_string(package, package->kernels[dispatch->kernel].name),
                expr_text(arena, package, dispatch->grid[0]),
                expr_text(arena, package, dispatch->grid[1]),
                expr_text(arena, package, dispatch->grid[2]));
    for (uint32_t i = 0; i < dispatch->lines; i++)
        text_printf(out, i ? ", %u" : ", line %u", package->refs[dispatch->first_line + i]);
    text_put(out, "\n");
    if (args) print_args(arena, package, dispatch, out);
}

static void print_alternative(Arena *arena, const Package *package, const AdxAlternative *choice,
                              bool args, Text *out) {
    static const char *const relations[] = {"==", "!=", "<", "<=", ">", ">="};
    const char *comma = " when ";
    text_printf(out, "  [%s]", package_string(package, choice->schedule));
    for (unsigned bit = 0; target_feature_name(bit); bit++) {
        if (!(choice->features >> bit & 1)) continue;
        text_printf(out, "%s%s", comma, target_feature_name(bit));
        comma = ", ";
    }
    for (uint32_t i = 0; i < choice->conditions; i++) {
        const AdxCondition *condition = &package->conditions[choice->first_condition + i];
        text_printf(out, "%s%s %s %s", comma, expr_text(arena, package, condition->left),
                    relations[condition->relation], expr_text(arena, package, condition->right));
        comma = ", ";
    }
    const char *reason = package_string(package, choice->reason);
    text_printf(out, *reason ? ": %s\n" : "%s\n", reason);
    for (uint32_t i = 0; i < choice->dispatches; i++)
        print_dispatch(arena, package, &package->dispatches[choice->first_dispatch + i], args, out);
}

// Steps [first, first + count). The count is of the last alternatives, each trip of a repeat for
// itself.
static Count print_steps(Arena *arena, const Package *package, uint32_t first, uint32_t count,
                         bool args, Text *out) {
    Count total = {0, 0};
    uint32_t times[ADX_NESTING_MAX + 1] = {1}, depth = 0;
    for (uint32_t i = first; i < first + count; i++) {
        const AdxStep *step = &package->steps[i];
        const char *name = package_string(package, step->name);
        if (step->kind == ADX_STEP_REPEAT) {
            text_printf(out, "repeat %s in %" PRId64 "..%" PRId64 " {\n",
                        package_string(package, package->dims[step->trip].name), step->lo,
                        step->hi);
            times[depth + 1] = times[depth] * (uint32_t)(step->hi - step->lo);
            depth++;
        } else if (step->kind == ADX_STEP_END) {
            text_put(out, "}\n");
            depth--;
        } else {
            text_printf(out, "step %s\n", name);
            const AdxAlternative *choice = &package->alternatives[step->first_alternative];
            for (uint32_t k = 0; k < step->alternatives; k++)
                print_alternative(arena, package, &choice[k], args, out);
            choice += step->alternatives - 1;
            total.dispatches += times[depth] * choice->dispatches;
            for (uint32_t k = 0; k < choice->dispatches; k++)
                total.barriers +=
                    times[depth] * package->dispatches[choice->first_dispatch + k].barrier;
        }
    }
    return total;
}

static void print_programs(Arena *arena, const Package *package, bool args, Text *out) {
    for (uint32_t i = 0; i < package->count[ADX_UNITS]; i++) {
        const AdxUnit *unit = &package->units[i];
        Text steps = {0};
        Count count = print_steps(arena, package, unit->first_step, unit->steps, args, &steps);
        AdeptError error;
        PrepareParts parts;
        text_printf(out, "\nprepare unit %u: %u dispatches", i, count.dispatches);
        if (!prepare_split(package, i, PREPARE_STAGING, &parts, &error)) {
            text_printf(out, ", %" PRIu64 " bytes of staging", parts.largest);
            if (parts.count > 1) text_printf(out, " at once, %u parts", parts.count);
            prepare_parts_free(&parts);
        }
        text_put(out, "\n");
        text_write(out, steps.data, steps.len);
        text_free(&steps);
    }
    Text steps = {0};
    Count count = print_steps(arena, package, 0, package->model->run_steps, args, &steps);
    text_printf(out, "\nrun: %u dispatches, %u barriers (marked |)\n", count.dispatches,
                count.barriers);
    text_write(out, steps.data, steps.len);
    text_free(&steps);
}

static void print_package(Arena *arena, const Package *package, const Options *options, Text *out) {
    const AdxModelInfo *model = package->model;
    text_printf(out, "model %s from %s, for %s, %" PRIu64 " bytes%s\n",
                package_string(package, model->name), package_string(package, model->file),
                package_string(package, model->target), package->size,
                package->graph ? "" : ", stripped");
    print_dims(package, out);
    print_tensors(arena, package, "input", package->inputs, package->count[ADX_INPUTS], out);
    print_tensors(arena, package, "output", package->outputs, package->count[ADX_OUTPUTS], out);
    print_states(package, out);
    print_weights(package, options->weights, out);
    text_printf(out, "memory: arena %s, state %" PRIu64 ", const %" PRIu64 " bytes\n",
                expr_text(arena, package, model->arena_bytes), model->state_bytes,
                model->const_bytes);
    print_kernels(package, out);
    print_programs(arena, package, options->args, out);
}

// ---- the command -----------------------------------------------------------------------------

static int inspect(Arena *arena, const char *path, const Options *options) {
    Source source = {0};
    Package package = {0};
    AdeptError error = {0};
    if (source_open(&source, path, &error) != ADEPT_OK) return cli_fail(CLI_INPUT, error.detail);
    AdeptResult result = package_read(&package, &source, &error);
    source_close(&source);
    if (result != ADEPT_OK) return cli_fail(CLI_INPUT, error.detail);
    Text text = {0};
    int code = CLI_OK;
    if (!options->graph)
        print_package(arena, &package, options, &text);
    else if (package.graph)
        text_write(&text, package.graph, package.count[ADX_GRAPH]);
    else
        code = cli_fail(CLI_INPUT, "the package was stripped of its graph");
    if (code == CLI_OK) code = cli_print(&text);
    text_free(&text);
    package_close(&package);
    return code;
}

static int run(int argc, char **argv) {
    Arena *arena = arena_create();
    Options options = {0};
    CliList words = {0};
    Text error = {0};
    int code;
    if (!cli_parse(arena, options_table, argc, argv, &options, &words, &error))
        code = cli_usage_error(&cmd_inspect, error.data);
    else if (words.len != 1)
        code = cli_usage_error(&cmd_inspect, "one package is wanted");
    else
        code = inspect(arena, words.at[0], &options);
    text_free(&error);
    arena_destroy(arena);
    return code;
}

const CliCommand cmd_inspect = {
    "inspect", "PACKAGE.adx", "Say what a package holds, dispatch by dispatch", options_table, run};
