// adept bench: ops of given shapes, or a whole model, timed and checked on a device.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/bench.h"
#include "frontend/commands.h"
#include "frontend/file.h"

static const CliOption options_table[] = {
    {"shape", 's', CLI_TEXT, offsetof(BenchOptions, shape), "AxB[,AxB]",
     "Sizes: MxNxK, ROWSxCOLUMNS, BxHxSxD, NxCxHxOxKxSTRIDE"},
    {"dtype", 't', CLI_TEXT, offsetof(BenchOptions, dtype), "DTYPE[,DTYPE]",
     "f32 (default), f16, bf16, i8, u8"},
    {"batch", 'b', CLI_NUMBER, offsetof(BenchOptions, batch), "B",
     "gemm, linear: so many products"},
    {"b-layout", 0, CLI_TEXT, offsetof(BenchOptions, b_layout), "nk|kn",
     "gemm, linear: order of the second operand, nk as linear has it (default)"},
    {"epilogue", 'e', CLI_TEXT, offsetof(BenchOptions, epilogue), "NAME",
     "gemm, linear: none, bias, bias_relu, bias_gelu, bias_gelu_tanh, bias_residual, gate"},
    {"causal", 0, CLI_FLAG, offsetof(BenchOptions, causal), NULL,
     "attention: keys up to the query"},
    {"kv-heads", 0, CLI_NUMBER, offsetof(BenchOptions, kv_heads), "H",
     "attention: heads of keys and values, if fewer"},
    {"keys", 0, CLI_NUMBER, offsetof(BenchOptions, keys), "S",
     "attention: number of keys, if not that of queries"},
    {"schedule", 0, CLI_TEXT, offsetof(BenchOptions, schedule), "\"A=1, ..\"",
     "Use this schedule, written as the table shows it (several with ;)"},
    {"list-schedules", 0, CLI_FLAG, offsetof(BenchOptions, list_schedules), NULL,
     "Print the candidates, the best first, and time nothing"},
    {"sweep", 0, CLI_NUMBER, offsetof(BenchOptions, sweep), "N", "Time the N best candidates"},
    {"warm", 0, CLI_FLAG, offsetof(BenchOptions, warm), NULL,
     "Keep to one set of operands, which caches may hold"},
    {"sets", 0, CLI_NUMBER, offsetof(BenchOptions, sets), "N", "Rotate over N sets of operands"},
    {"csv", 0, CLI_FLAG, offsetof(BenchOptions, csv), NULL, "Print comma-separated values"},
    {"device", 0, CLI_TEXT, offsetof(BenchOptions, device), "D", "Number or part of the name"},
    {"dim", 0, CLI_LIST, offsetof(BenchOptions, dims), "NAME=SIZE", "A model: one of its dims"},
    {"steps", 0, CLI_NUMBER, offsetof(BenchOptions, steps), "N",
     "A model: N runs after one another, as a decoder makes them"},
    {"weights", 'w', CLI_TEXT, offsetof(BenchOptions, weights), "FILE",
     "A model: .safetensors, or an index of shards"},
    {"random-weights", 0, CLI_TEXT, offsetof(BenchOptions, random_weights), "SEED",
     "A model: weights made from this number"},
    PIPELINE_OPTIONS(BenchOptions, pipeline),
    {0},
};

static const BenchOp ops[] = {
    {"gemm", "MxNxK", "1024x1024x1024", bench_gemm},
    {"linear", "MxNxK", "1024x1024x1024", bench_linear},
    {"conv", "NxCxHxOxKxSTRIDE", "16x64x56x64x3x1", bench_conv},
    {"conv_nhwc", "NxCxHxOxKxSTRIDE", "16x64x56x64x3x1", bench_conv_nhwc},
    {"depthwise", "NxCxHxKxSTRIDE", "16x96x56x3x1", bench_depthwise},
    {"depthwise_nhwc", "NxCxHxKxSTRIDE", "16x96x56x3x1", bench_depthwise_nhwc},
    {"attention", "BxHxSxD", "1x32x1024x128", bench_attention},
    {"softmax", "ROWSxCOLUMNS", "4096x4096", bench_softmax},
    {"layer_norm", "ROWSxCOLUMNS", "4096x4096", bench_layer_norm},
    {"rms_norm", "ROWSxCOLUMNS", "4096x4096", bench_rms_norm},
    {"transpose", "ROWSxCOLUMNS", "4096x4096", bench_transpose},
    {"map", "ROWSxCOLUMNS", "4096x4096", bench_map},
    {"slice", "ROWSxCOLUMNS", "4096x4096", bench_slice},
    {"transpose_map", "ROWSxCOLUMNS", "4096x4096", bench_transpose_map},
};
enum { OPS = sizeof ops / sizeof ops[0] };

static const BenchOp *find_op(const char *name) {
    for (unsigned i = 0; i < OPS; i++)
        if (strcmp(ops[i].name, name) == 0) return &ops[i];
    return NULL;
}

// ---- the table -------------------------------------------------------------------------------

static void print_head(const BenchDevice *bench) {
    const AdeptDeviceInfo *info = adept_device_info(bench->device);
    if (bench->options->csv)
        printf("case,us,least_us,tflops,gb_per_s,error,schedule\n");
    else
        printf("device: %s, %s\n%-44s %11s %9s %9s %9s  %s\n", info->name, info->driver, "case",
               "us", "TFLOP/s", "GB/s", "error", "schedule");
    fflush(stdout);
}

static void print_row(const BenchDevice *bench, const BenchCase *made, const BenchRow *row) {
    double us = row->times.median > 0 ? row->times.median : 1e-3;
    double tflops = row->flops / us * 1e-6, rate = row->bytes / us * 1e-3;
    double error = bench_error_relative(&row->error);
    if (bench->options->csv) {
        printf("%s,%.3f,%.3f,%.4g,%.5g,%.3g,\"%s\"\n", made->title, us, row->times.least, tflops,
               rate, error, row->schedule);
    } else {
        printf("%-44s %11.2f %9.3f %9.1f %9.2g  %s", made->title, us, tflops, rate, error,
               row->schedule);
        if (row->steps > 1) printf("; %u dispatches", row->steps);
        printf("\n");
    }
    fflush(stdout);
}

// ---- cases -----------------------------------------------------------------------------------

static int list_schedules(BenchDevice *bench, const BenchCase *made) {
    Pipeline pipeline;
    CandidateList list;
    Text text = {0};
    int code = bench_candidates(bench, made, &pipeline, &list);
    if (code == CLI_OK) {
        text_printf(&text, "%s: %u candidates\n", made->title, list.len);
        for (uint32_t i = 0; i < list.len; i++) {
            text_printf(&text, "%12.5g  ", list.at[i].cost);
            schedule_print(&list.at[i].schedule, &text);
            text_printf(&text, "  # %s\n", list.at[i].why);
        }
        code = cli_print(&text);
    }
    text_free(&text);
    pipeline_close(&pipeline);
    return code;
}

static int time_one(BenchSets *sets, const BenchDevice *bench, const BenchCase *made,
                    const Schedule *forced) {
    BenchRow row;
    int code = bench_case(sets, forced, &row);
    if (code == CLI_OK) print_row(bench, made, &row);
    return code;
}

// A schedule that fails is told and does not end the sweep; the exit says that one did.
static int time_each(BenchDevice *bench, BenchCase *made, const Schedule *schedules,
                     uint32_t count) {
    BenchSets *sets = bench_sets_open(bench, made);
    int code = CLI_OK, worst = CLI_OK;
    for (uint32_t i = 0; code != CLI_DEVICE && i < count; i++) {
        code = time_one(sets, bench, made, &schedules[i]);
        if (code == CLI_OK) continue;
        worst = code;
        if (count == 1) break;
        Text text = {0};
        schedule_print(&schedules[i], &text);
        fprintf(stderr, "adept: with the schedule %s\n", text.data);
        text_free(&text);
    }
    bench_sets_close(sets);
    return worst;
}

static int sweep(BenchDevice *bench, BenchCase *made) {
    Pipeline pipeline;
    CandidateList list;
    VEC(Schedule) schedules = {0};
    int code = bench_candidates(bench, made, &pipeline, &list);
    for (uint32_t i = 0; code == CLI_OK && i < list.len && i < bench->options->sweep; i++)
        vec_push(bench->arena, &schedules, list.at[i].schedule);
    if (code == CLI_OK) code = time_each(bench, made, schedules.at, schedules.len);
    pipeline_close(&pipeline);
    return code;
}

// The schedules of "A=1, ..; A=2, ..".
static int by_hand(BenchDevice *bench, BenchCase *made) {
    VEC(Schedule) schedules = {0};
    Text error = {0};
    int code = CLI_OK;
    for (const char *at = bench->options->schedule; code == CLI_OK; at++) {
        size_t length = strcspn(at, ";");
        Schedule schedule = {0};
        if (!schedule_parse(arena_strndup(bench->arena, at, length), bench->arena, &schedule,
                            &error)) {
            fprintf(stderr, "adept: --schedule: %s\n", error.data);
            code = CLI_USAGE;
        }
        vec_push(bench->arena, &schedules, schedule);
        at += length;
        if (*at == '\0') break;
    }
    if (code == CLI_OK) code = time_each(bench, made, schedules.at, schedules.len);
    text_free(&error);
    return code;
}

static int run_case(BenchDevice *bench, BenchCase *made) {
    const BenchOptions *options = bench->options;
    if (options->list_schedules) return list_schedules(bench, made);
    if (options->sweep > 0) return sweep(bench, made);
    if (options->schedule) return by_hand(bench, made);
    BenchSets *sets = bench_sets_open(bench, made);
    int code = time_one(sets, bench, made, NULL);
    bench_sets_close(sets);
    return code;
}

// "4096x4096x4096" into as many sizes as `like` has.
static bool read_shape(Arena *arena, const char *text, const char *like, int64_t *shape) {
    uint32_t wanted = 1, have = 0;
    for (const char *c = like; *c; c++) wanted += *c == 'x';
    while (have < BENCH_SHAPE_MAX) {
        size_t length = strcspn(text, "x");
        if (!cli_int(arena_strndup(arena, text, length), &shape[have]) || shape[have] < 1 ||
            shape[have] >= INT64_C(1) << 31)
            return false;
        have++;
        if (text[length] == '\0') return have == wanted;
        text += length + 1;
    }
    return false;
}

// The next of "A,B"; NULL behind the last.
static const char *next_word(Arena *arena, const char **list) {
    if (!*list || **list == '\0') return NULL;
    size_t length = strcspn(*list, ",");
    const char *word = arena_strndup(arena, *list, length);
    *list += length + ((*list)[length] == ',');
    return word;
}

static int run_shape(BenchDevice *bench, const BenchOp *op, const char *shape_text, DType dtype) {
    int64_t shape[BENCH_SHAPE_MAX];
    BenchCase made;
    Text error = {0};
    int code;
    if (!read_shape(bench->arena, shape_text, op->sizes, shape)) {
        text_printf(&error, "--shape %s: %s is wanted", shape_text, op->sizes);
        code = cli_usage_error(&cmd_bench, error.data);
    } else if (!op->make(bench->arena, bench->options, dtype, shape, &made, &error)) {
        code = cli_usage_error(&cmd_bench, error.data);
    } else {
        code = run_case(bench, &made);
    }
    text_free(&error);
    return code;
}

// All cases are tried; the exit is that of the first that failed.
static int run_op(BenchDevice *bench, const BenchOp *op) {
    const BenchOptions *options = bench->options;
    const char *dtypes = options->dtype ? options->dtype : "f32";
    int first = CLI_OK;
    if (!options->list_schedules) print_head(bench);
    for (const char *name; (name = next_word(bench->arena, &dtypes));) {
        const char *shapes = options->shape ? options->shape : op->shapes;
        DType dtype;
        if (!dtype_from_name(name, &dtype) || dtype_class(dtype) == DC_LATER) {
            fprintf(stderr, "adept: --dtype %s: f32, f16, bf16, i8 or u8 is wanted\n", name);
            return CLI_USAGE;
        }
        for (const char *shape; (shape = next_word(bench->arena, &shapes));) {
            int code = run_shape(bench, op, shape, dtype);
            if (first == CLI_OK) first = code;
            if (code == CLI_DEVICE || code == CLI_USAGE) return code;
        }
    }
    return first;
}

// ---- the command -----------------------------------------------------------------------------

static int unknown(const char *word) {
    const char *names[OPS + 1] = {0};
    Text text = {0};
    for (unsigned i = 0; i < OPS; i++) names[i] = ops[i].name;
    const char *near = nearest_name(word, names);
    text_printf(&text, "'%s' is no op that bench knows and no file", word);
    if (near) text_printf(&text, "; did you mean '%s'?", near);
    int code = cli_usage_error(&cmd_bench, text.data);
    text_free(&text);
    return code;
}

static int run(int argc, char **argv) {
    Arena *arena = arena_create();
    BenchOptions options = {.pipeline = pipeline_options()};
    CliList words = {0};
    Text error = {0};
    int code;
    if (!cli_parse(arena, options_table, argc, argv, &options, &words, &error))
        code = cli_usage_error(&cmd_bench, error.data);
    else if (words.len != 1)
        code = cli_usage_error(&cmd_bench, "one op or model is wanted");
    else if (options.weights && options.random_weights)
        code = cli_usage_error(&cmd_bench, "--weights and --random-weights exclude each other");
    else if (!find_op(words.at[0]) && !strpbrk(words.at[0], "./"))
        code = unknown(words.at[0]);
    else {
        BenchDevice bench;
        const BenchOp *op = find_op(words.at[0]);
        code = bench_open(&bench, &options);
        if (code == CLI_OK) code = op ? run_op(&bench, op) : bench_file(&bench, words.at[0]);
        bench_close(&bench);
    }
    text_free(&error);
    arena_destroy(arena);
    return code;
}

const CliCommand cmd_bench = {"bench", "OP|MODEL",
                              "Time an op of given shapes, or a model, and check it", options_table,
                              run};
