// Continues a text with a small decoder: how a program embeds Adept's runtime for a model that
// keeps state (the key/value cache) and whose sizes change from run to run. usage: kjv TEXT [-n
// BYTES] [--f32] [--temperature T --seed S] [--model FILE.adx] [--weights FILE]
//
// Prints the text and its continuation as it is made; tokens per second go to standard error.
#include "runtime/adept.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { VOCABULARY = 128, PROMPT_MAX = 256, CACHE = 512 };

typedef struct Options {
    const char *text, *model, *weights;
    long count;
    bool f32;
    double temperature;
    unsigned long long seed;
} Options;

static bool done(AdeptResult result, const char *what, const AdeptError *error) {
    if (result == ADEPT_OK) return true;
    fprintf(stderr, "kjv: %s: %s: %s\n", what, adept_result_string(result), error->detail);
    return false;
}

static void say(void *user, bool is_error, const char *text) {
    (void)user;
    fprintf(stderr, "kjv: %s: %s\n", is_error ? "error" : "warning", text);
}

static int usage(void) {
    fprintf(stderr, "usage: kjv TEXT [-n BYTES] [--f32] [--temperature T --seed S]\n"
                    "           [--model FILE.adx] [--weights FILE.safetensors]\n");
    return 2;
}

static bool parse_number(const char *text, double least, double most, double *out) {
    char *end;
    *out = strtod(text, &end);
    return end != text && !*end && *out >= least && *out <= most;
}

static bool parse_options(int argc, char **argv, Options *o) {
    *o = (Options){.count = 200};
    for (int i = 1; i < argc; i++) {
        const char *next = i + 1 < argc ? argv[i + 1] : NULL;
        double number = 0;
        if (!strcmp(argv[i], "--f32")) {
            o->f32 = true;
        } else if (!strcmp(argv[i], "-n") && next && parse_number(next, 0, CACHE, &number)) {
            o->count = (long)number;
            i++;
        } else if (!strcmp(argv[i], "--temperature") && next &&
                   parse_number(next, 0, 100, &o->temperature)) {
            i++;
        } else if (!strcmp(argv[i], "--seed") && next && parse_number(next, 0, 1e15, &number)) {
            o->seed = (unsigned long long)number;
            i++;
        } else if (!strcmp(argv[i], "--model") && next) {
            o->model = argv[++i];
        } else if (!strcmp(argv[i], "--weights") && next) {
            o->weights = argv[++i];
        } else if (argv[i][0] != '-' && !o->text) {
            o->text = argv[i];
        } else {
            return false;
        }
    }
    if (!o->model) o->model = o->f32 ? KJV_FOLDER "/kjv_f32.adx" : KJV_FOLDER "/kjv_f16.adx";
    if (!o->weights) o->weights = KJV_WEIGHTS;
    return o->text != NULL;
}

// The prompt's bytes as tokens; 0 where it is empty, too long or not plain ASCII.
static size_t tokens_of(const char *text, int32_t *tokens) {
    size_t count = strlen(text);
    if (count == 0 || count > PROMPT_MAX) {
        fprintf(stderr, "kjv: the text must have 1 to %d bytes\n", PROMPT_MAX);
        return 0;
    }
    for (size_t i = 0; i < count; i++) {
        tokens[i] = (unsigned char)text[i];
        if (tokens[i] < VOCABULARY) continue;
        fprintf(stderr, "kjv: byte %zu of the text is not ASCII\n", i);
        return 0;
    }
    return count;
}

// Uniform in 0..1, xorshift64*.
static double random_unit(unsigned long long *state) {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return (double)((*state * 2685821657736338717ull) >> 11) / 9007199254740992.0;
}

static int32_t sample(const float *logits, double temperature, unsigned long long *state) {
    double weight[VOCABULARY], sum = 0, largest = logits[0];
    for (int i = 1; i < VOCABULARY; i++) largest = logits[i] > largest ? logits[i] : largest;
    for (int i = 0; i < VOCABULARY; i++) {
        weight[i] = exp((logits[i] - largest) / temperature);
        sum += weight[i];
    }
    double point = random_unit(state) * sum;
    int32_t chosen = 0;
    while (chosen < VOCABULARY - 1 && (point -= weight[chosen]) >= 0) chosen++;
    return chosen;
}

typedef struct Writer {
    AdeptSession *session;
    float logits[PROMPT_MAX * VOCABULARY];
    int64_t cached; // tokens in the key/value cache
} Writer;

// Runs `count` new tokens through the model; the logits of the last and the likeliest next token.
static bool step(Writer *w, const int32_t *tokens, size_t count, int32_t *next, AdeptError *error) {
    AdeptTensor input = {.name = "tokens",
                         .dtype = ADEPT_I32,
                         .rank = 2,
                         .shape = {1, (int64_t)count},
                         .data = (void *)tokens,
                         .size = count * sizeof *tokens};
    AdeptTensor output[2] = {
        {.name = "logits", .dtype = ADEPT_F32, .data = w->logits, .size = count * VOCABULARY * 4},
        {.name = "next", .dtype = ADEPT_I32, .data = next, .size = sizeof *next}};
    bool good = done(adept_session_set_dim(w->session, "P", w->cached, error), "P", error) &&
                done(adept_session_run(w->session, &input, 1, output, 2, error), "run", error);
    if (good) w->cached += (int64_t)count;
    return good;
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static bool write_text(AdeptSession *session, const Options *o) {
    static Writer w;
    static int32_t tokens[PROMPT_MAX];
    unsigned long long state = o->seed * 0x9e3779b97f4a7c15ull + 1;
    AdeptError error;
    int32_t next = 0;
    size_t count = tokens_of(o->text, tokens);
    w.session = session;
    if (count == 0) return false;
    fputs(o->text, stdout);
    double start = seconds(), prefilled = start;
    for (long made = 0; made < o->count; made++) {
        if (!step(&w, tokens, count, &next, &error)) return false;
        if (made == 0) prefilled = seconds();
        if (o->temperature > 0) {
            next = sample(w.logits + (count - 1) * VOCABULARY, o->temperature, &state);
        }
        putchar(next);
        fflush(stdout);
        tokens[0] = next;
        count = 1;
    }
    double end = seconds();
    putchar('\n');
    fprintf(stderr, "prompt %zu tokens in %.1f ms, then %.1f tokens/s\n", strlen(o->text),
            1e3 * (prefilled - start),
            o->count > 1 ? (double)(o->count - 1) / (end - prefilled) : 0);
    return true;
}

int main(int argc, char **argv) {
    Options options;
    AdeptModelOptions model_options = {.message = say};
    AdeptDevice *device = NULL;
    AdeptModel *model = NULL;
    AdeptSession *session = NULL;
    AdeptError error;
    if (!parse_options(argc, argv, &options)) return usage();
    int code = 1;
    if (!done(adept_device_open(NULL, &device, &error), "device", &error)) {
        code = 3;
    } else if (done(adept_model_open(device, options.model, &model_options, &model, &error),
                    options.model, &error) &&
               done(adept_model_bind(model, options.weights, &error), options.weights, &error) &&
               done(adept_session_open(model, &session, &error), "session", &error) &&
               write_text(session, &options)) {
        code = 0;
    }
    adept_session_close(session);
    adept_model_close(model);
    adept_device_close(device);
    return code;
}
