// adept ops [--markdown] [NAME ..]: the op table (ir/ops.def) as people read it. docs/ops.md is
// what
// --markdown prints.
#include <string.h>

#include "frontend/commands.h"
#include "ir/op.h"

typedef struct Options {
    bool markdown;
} Options;

static const CliOption options_table[] = {
    {"markdown", 0, CLI_FLAG, offsetof(Options, markdown), NULL, "As the table of docs/ops.md"},
    {0},
};

// Class in the words of docs/architecture.md.
static const char *class_name(OpClass class) {
    static const char *const names[] = {
        [OC_MAP] = "map",
        [OC_REDUCE] = "reduce",
        [OC_ROW] = "row",
        [OC_CONTRACT] = "contract",
        [OC_WINDOW] = "window",
        [OC_TRANSFORM] = "transform",
        [OC_ATTENTION] = "attention",
        [OC_SCAN] = "scan",
        [OC_GATHER] = "gather",
        [OC_MOVE] = "move",
        [OC_SOURCE] = "source",
        [OC_STATE] = "state",
    };
    return names[class];
}

static const char *precision_name(OpPrecision precision) {
    static const char *const names[] = {[OPREC_EXACT] = "exact",
                                        [OPREC_ELEMENT] = "element",
                                        [OPREC_REDUCE] = "reduce",
                                        [OPREC_MATMUL] = "matmul"};
    return names[precision];
}

// name(x, axis, y=None, eps=1e-5)
static void print_signature(const OpInfo *op, Text *out) {
    text_printf(out, "%s(", op->name);
    for (unsigned place = 0; place < op->operands + op->attrs; place++) {
        unsigned at = op_argument(op, place);
        if (place) text_put(out, ", ");
        if (at < op->operands) {
            const OperandSpec *operand = &op->operand[at];
            text_printf(out, operand->variadic ? "[%s, ..]" : "%s", operand->name);
            if (operand->optional) text_put(out, "=None");
            continue;
        }
        const AttrSpec *attr = &op->attr[at - op->operands];
        text_put(out, attr->name);
        if (attr->required) continue;
        bool word = attr->kind == ATTR_STRING && strcmp(attr->default_text, "None") != 0;
        text_printf(out, word ? "=\"%s\"" : "=%s", attr->default_text);
    }
    text_put(out, ")");
}

static void print_row(const OpInfo *op, bool markdown, Text *out) {
    Text signature = {0};
    print_signature(op, &signature);
    const char *later = op->later ? " (later)" : "";
    if (markdown) {
        text_printf(out, "| `%s`%s | %s | %s | %s |\n", signature.data, later,
                    class_name(op->class), precision_name(op->precision), op->doc);
    } else {
        text_printf(out, "%s%s\n    %s, %s. %s\n", signature.data, later, class_name(op->class),
                    precision_name(op->precision), op->doc);
    }
    text_free(&signature);
}

static void print_all(bool markdown, Text *out) {
    if (markdown)
        text_put(out,
                 "# Ops\n\n"
                 "What `adept ops --markdown` prints: one row for each row of `ir/ops.def`.\n\n"
                 "| op | class | precision | meaning |\n|---|---|---|---|\n");
    for (OpId id = OP_NONE + 1; id < OP_COUNT; id++)
        if (!op_info(id)->internal) print_row(op_info(id), markdown, out);
}

static bool print_named(const CliList *names, bool markdown, Text *out, Text *error) {
    for (uint32_t i = 0; i < names->len; i++) {
        const char *name = names->at[i];
        OpId id = op_find(name);
        if (id == OP_NONE) {
            const char *near = nearest_name(name, op_names());
            text_printf(error, "no op '%s'", name);
            if (near) text_printf(error, "; did you mean '%s'?", near);
            return false;
        }
        print_row(op_info(id), markdown, out);
    }
    return true;
}

static int run(int argc, char **argv) {
    Arena *arena = arena_create();
    Options options = {0};
    CliList names = {0};
    Text error = {0}, text = {0};
    int code;
    if (!cli_parse(arena, options_table, argc, argv, &options, &names, &error)) {
        code = cli_usage_error(&cmd_ops, error.data);
    } else if (names.len == 0) {
        print_all(options.markdown, &text);
        code = cli_print(&text);
    } else if (print_named(&names, options.markdown, &text, &error)) {
        code = cli_print(&text);
    } else {
        code = cli_fail(CLI_INPUT, error.data);
    }
    text_free(&text);
    text_free(&error);
    arena_destroy(arena);
    return code;
}

const CliCommand cmd_ops = {"ops", "[NAME ..]", "List the language's ops", options_table, run};
