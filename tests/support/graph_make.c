#include "tests/support/graph_make.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef struct Reader {
    Graph *g;
    const char *at;
} Reader;

static bool take(Reader *reader, char c) {
    while (*reader->at == ' ') reader->at++;
    if (*reader->at != c) return false;
    reader->at++;
    return true;
}

static char *word(Reader *reader) {
    while (*reader->at == ' ') reader->at++;
    const char *start = reader->at;
    while (isalnum((unsigned char)*reader->at) || strchr("_.-", *reader->at)) {
        if (*reader->at == '\0') break;
        reader->at++;
    }
    return arena_strndup(reader->g->arena, start, (size_t)(reader->at - start));
}

static Dim atom(Reader *reader) {
    char *text = word(reader);
    Dim dim = dim_find(reader->g->dims, text);
    return dim ? dim : dim_const(reader->g->dims, strtoll(text, NULL, 10));
}

static Dim size(Reader *reader) {
    Dim left = atom(reader);
    for (;;) {
        if (take(reader, '*'))
            left = dim_mul(reader->g->dims, left, atom(reader));
        else if (take(reader, '+'))
            left = dim_add(reader->g->dims, left, atom(reader));
        else if (take(reader, '/'))
            left = dim_floor_div(reader->g->dims, left, atom(reader));
        else
            return left;
    }
}

static DType dtype(Reader *reader) {
    DType value = DT_NONE;
    bool known = dtype_from_name(word(reader), &value);
    assert(known);
    (void)known;
    return value;
}

Type make_type(Graph *g, const char *text) {
    Reader reader = {g, text};
    Type type = {0};
    if (take(&reader, '[') && !take(&reader, ']')) {
        do type.size[type.rank++] = size(&reader);
        while (take(&reader, ','));
        bool closed = take(&reader, ']');
        assert(closed);
        (void)closed;
    }
    type.dtype = dtype(&reader);
    return type;
}

// Sizes in brackets, nested ones flattened.
static void sizes(Reader *reader, Dim *out, uint32_t *count, bool *nested) {
    if (!take(reader, '[')) {
        out[(*count)++] = size(reader);
        return;
    }
    if (take(reader, ']')) return;
    do {
        *nested = *nested || (take(reader, '[') && (reader->at--, true));
        sizes(reader, out, count, nested);
    } while (take(reader, ','));
    bool closed = take(reader, ']');
    assert(closed);
    (void)closed;
}

static Attr list_value(Reader *reader, AttrKind kind) {
    Dim *dims = arena_alloc(reader->g->arena, 64 * sizeof *dims);
    uint32_t count = 0;
    bool nested = false;
    if (kind == ATTR_PAIRS && take(reader, '"')) {
        Attr attr = attr_sizes(NULL, 0);
        attr.sizes.word = word(reader);
        take(reader, '"');
        return attr;
    }
    sizes(reader, dims, &count, &nested);
    if (kind != ATTR_INTS) {
        Attr attr = attr_sizes(dims, count);
        attr.sizes.pairs = nested;
        return attr;
    }
    int64_t *ints = arena_alloc(reader->g->arena, 64 * sizeof *ints);
    for (uint32_t i = 0; i < count; i++) dim_is_const(reader->g->dims, dims[i], &ints[i]);
    return attr_ints(ints, count);
}

static Attr value(Reader *reader, AttrKind kind) {
    switch (kind) {
    case ATTR_INT: return attr_int(strtoll(word(reader), NULL, 10));
    case ATTR_FLOAT: return attr_float(strtod(word(reader), NULL));
    case ATTR_BOOL: return attr_int(strcmp(word(reader), "true") == 0);
    case ATTR_DTYPE: return attr_dtype(dtype(reader));
    case ATTR_SIZE: return attr_size(size(reader));
    case ATTR_STRING: {
        take(reader, '"');
        Attr attr = attr_string(word(reader));
        take(reader, '"');
        return attr;
    }
    case ATTR_SCALAR: {
        char *text = word(reader);
        Dim dim = dim_find(reader->g->dims, text);
        if (dim) return attr_size(dim);
        if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0) return attr_int(*text == 't');
        return strpbrk(text, ".enf") ? attr_float(strtod(text, NULL))
                                     : attr_int(strtoll(text, NULL, 10));
    }
    case ATTR_SIZES:
    case ATTR_INTS:
    case ATTR_PAIRS: return list_value(reader, kind);
    }
    return attr_none();
}

void make_attrs(Graph *g, OpId op, const char *text, Attr attr[OP_ATTRS_MAX]) {
    const OpInfo *info = op_info(op);
    op_attr_defaults(g->dims, g->arena, info, attr);
    Reader reader = {g, text ? text : ""};
    while (*reader.at) {
        int index = op_attr_index(info, word(&reader));
        assert(index >= 0);
        take(&reader, '=');
        attr[index] = value(&reader, info->attr[index].kind);
        take(&reader, ',');
    }
}

static ValueId declare(Graph *g, OpId op, const char *name, const char *text) {
    Type type = make_type(g, text);
    Decl decl = {.key = op == OP_PARAM ? name : NULL, .stored = type.dtype};
    NodeSpec spec = {.op = op, .name = name, .type = &type, .decl = &decl};
    return graph_result(g, graph_add(g, NULL, &spec), 0);
}

ValueId make_input(Graph *g, const char *name, const char *type) {
    return declare(g, OP_INPUT, name, type);
}

ValueId make_param(Graph *g, const char *name, const char *type) {
    return declare(g, OP_PARAM, name, type);
}

NodeId make_node(Graph *g, Diags *diags, OpId op, const char *name, const char *attrs,
                 const ValueId *operand, uint32_t operands) {
    Attr attr[OP_ATTRS_MAX];
    make_attrs(g, op, attrs, attr);
    NodeSpec spec = {
        .op = op, .operand = operand, .operands = operands, .attr = attr, .name = name};
    return graph_add(g, diags, &spec);
}

ValueId make_op(Graph *g, OpId op, const char *name, const char *attrs, ValueId x, ValueId y,
                ValueId z) {
    ValueId operand[] = {x, y, z};
    NodeId node = make_node(g, NULL, op, name, attrs, operand, !x ? 0 : !y ? 1 : !z ? 2 : 3);
    assert(node);
    return graph_result(g, node, 0);
}

ValueId make_view(Graph *g, OpId op, const char *attrs, ValueId x) {
    Attr attr[OP_ATTRS_MAX];
    make_attrs(g, op, attrs, attr);
    NodeSpec spec = {
        .op = op, .operand = &x, .operands = x ? 1 : 0, .attr = attr, .inline_view = true};
    NodeId node = graph_add(g, NULL, &spec);
    assert(node);
    return graph_result(g, node, 0);
}

Graph *make_empty(int64_t most) {
    Graph *g = graph_create("m");
    Dim n = dim_symbol(g->dims, "N", 1, most);
    assert(n != DIM_NONE);
    (void)n;
    return g;
}

ValueId make_contract(Graph *g, const char *attrs, ValueId x, ValueId y) {
    return make_op(g, OP_CONTRACT, "c", attrs, x, y, 0);
}

void make_finish(Graph *g, NodeId fused, ValueId value) {
    graph_end_fused(g, fused, &value, 1);
    graph_add_output(g, "o", NULL, value, (Loc){0});
    g->stage = STAGE_FUSED;
}

ValueId make_state(Graph *g, const char *name, const char *type) {
    Type declared = make_type(g, type);
    Decl decl = {.key = name};
    NodeSpec spec = {.op = OP_STATE, .name = name, .type = &declared, .decl = &decl};
    return graph_result(g, graph_add(g, NULL, &spec), 0);
}
