#include "ir/number.h"
#include "tests/support/onnx.h"

#include <stdio.h>
#include <string.h>

typedef struct Wire {
    const uint8_t *at, *end;
    bool bad;
} Wire;

typedef struct Field {
    uint32_t number, type;
    uint64_t value; // varint, fixed
    Wire bytes;     // type 2
} Field;

static uint64_t varint(Wire *w) {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && w->at < w->end; shift += 7) {
        uint8_t byte = *w->at++;
        value |= (uint64_t)(byte & 127) << shift;
        if (!(byte & 128)) return value;
    }
    w->bad = true;
    return 0;
}

static bool next_field(Wire *w, Field *f) {
    if (w->bad || w->at >= w->end) return false;
    uint64_t key = varint(w);
    *f = (Field){.number = (uint32_t)(key >> 3), .type = key & 7};
    size_t left = (size_t)(w->end - w->at), size = 0;
    if (f->type == 0) {
        f->value = varint(w);
        return !w->bad;
    }
    size = f->type == 2 ? varint(w) : f->type == 1 ? 8 : f->type == 5 ? 4 : SIZE_MAX;
    left = (size_t)(w->end - w->at);
    if (w->bad || size > left) {
        w->bad = true;
        return false;
    }
    if (f->type == 2)
        f->bytes = (Wire){w->at, w->at + size, false};
    else
        memcpy(&f->value, w->at, size);
    w->at += size;
    return true;
}

static const char *text_of(Arena *arena, Wire bytes) {
    return arena_strndup(arena, (const char *)bytes.at, (size_t)(bytes.end - bytes.at));
}

static DType dtype_of_onnx(int type) {
    static const DType types[] = {[1] = DT_F32,   [2] = DT_U8,      [3] = DT_I8,     [6] = DT_I32,
                                  [7] = DT_I32,   [9] = DT_BOOL,    [10] = DT_F16,   [12] = DT_U32,
                                  [16] = DT_BF16, [17] = DT_F8E4M3, [19] = DT_F8E5M2};
    return type > 0 && type < 20 ? types[type] : DT_NONE;
}

typedef VEC(uint64_t) Numbers;

static void collect(Arena *arena, const Field *f, unsigned fixed, Numbers *out) {
    Wire w = f->bytes;
    if (f->type != 2) {
        vec_push(arena, out, f->value);
        return;
    }
    while (w.at < w.end && !w.bad) {
        uint64_t value = 0;
        if (fixed) {
            memcpy(&value, w.at, fixed);
            w.at += fixed;
        } else {
            value = varint(&w);
        }
        vec_push(arena, out, value);
    }
}

static double from_bits(int onnx_type, DType dtype, const uint8_t *bytes) {
    int64_t wide;
    if (onnx_type != 7) return number_load(dtype, bytes);
    memcpy(&wide, bytes, 8);
    // Narrowed to i32; limits such as "to the end" saturate.
    return wide > INT32_MAX ? INT32_MAX : wide < INT32_MIN ? INT32_MIN : (double)wide;
}

static void read_tensor(Arena *arena, Wire w, OnnxTensor *out) {
    Field f;
    Wire raw = {0};
    Numbers dims = {0}, floats = {0}, ints = {0}, longs = {0};
    *out = (OnnxTensor){.name = ""};
    while (next_field(&w, &f)) {
        switch (f.number) {
        case 1: collect(arena, &f, 0, &dims); break;
        case 2: out->onnx_type = (int)f.value; break;
        case 4: collect(arena, &f, 4, &floats); break;
        case 5: collect(arena, &f, 0, &ints); break;
        case 7: collect(arena, &f, 0, &longs); break;
        case 8: out->name = text_of(arena, f.bytes); break;
        case 9: raw = f.bytes; break;
        default: break;
        }
    }
    Tensor *t = &out->tensor;
    t->dtype = dtype_of_onnx(out->onnx_type);
    t->elements = 1;
    if (dims.len > RANK_MAX) t->dtype = DT_NONE;
    for (uint32_t i = 0; i < dims.len && i < RANK_MAX; i++) {
        t->size[t->rank++] = (int64_t)dims.at[i];
        t->elements *= (int64_t)dims.at[i];
    }
    // Inputs of sequence or optional type are other messages: what they hold is no tensor's worth.
    unsigned bytes = out->onnx_type == 7 ? 8 : t->dtype ? dtype_bytes(t->dtype) : 1;
    uint64_t held = raw.at ? (uint64_t)(raw.end - raw.at) / bytes : 0;
    uint64_t most =
        held > floats.len + ints.len + longs.len ? held : floats.len + ints.len + longs.len;
    if (t->elements < 0 || (uint64_t)t->elements > most) t->dtype = DT_NONE;
    if (!t->dtype) return;
    t->data = arena_alloc(arena, (size_t)t->elements * sizeof(double));
    for (int64_t i = 0; i < t->elements; i++) {
        if (raw.at && raw.at + (size_t)(i + 1) * bytes <= raw.end) {
            t->data[i] = from_bits(out->onnx_type, t->dtype, raw.at + (size_t)i * bytes);
        } else if (i < floats.len) {
            t->data[i] = number_load(DT_F32, &floats.at[i]);
        } else if (i < ints.len) {
            t->data[i] = number_load(t->dtype, &ints.at[i]);
        } else if (i < longs.len) {
            t->data[i] = from_bits(7, DT_I32, (const uint8_t *)&longs.at[i]);
        }
    }
}

static void read_attr(Arena *arena, Wire w, OnnxAttr *out) {
    Field f;
    Numbers floats = {0}, ints = {0};
    *out = (OnnxAttr){.name = ""};
    while (next_field(&w, &f)) {
        switch (f.number) {
        case 1: out->name = text_of(arena, f.bytes); break;
        case 2: out->f = number_load(DT_F32, &f.value); break;
        case 3: out->i = (int64_t)f.value; break;
        case 4: out->s = text_of(arena, f.bytes); break;
        case 5:
            out->t = arena_alloc(arena, sizeof *out->t);
            read_tensor(arena, f.bytes, out->t);
            break;
        case 7: collect(arena, &f, 4, &floats); break;
        case 8: collect(arena, &f, 0, &ints); break;
        default: break;
        }
    }
    out->ints = (int64_t *)ints.at;
    out->int_count = ints.len;
    out->float_count = floats.len;
    out->floats = arena_alloc(arena, floats.len * sizeof(double));
    for (uint32_t i = 0; i < floats.len; i++) {
        out->floats[i] = number_load(DT_F32, &floats.at[i]);
    }
}

static void read_node(Arena *arena, Wire w, OnnxNode *out) {
    Field f;
    OnnxAttr attr;
    *out = (OnnxNode){.op = "", .domain = ""};
    while (next_field(&w, &f)) {
        switch (f.number) {
        case 1: vec_push(arena, &out->inputs, text_of(arena, f.bytes)); break;
        case 2: vec_push(arena, &out->outputs, text_of(arena, f.bytes)); break;
        case 4: out->op = text_of(arena, f.bytes); break;
        case 5:
            read_attr(arena, f.bytes, &attr);
            vec_push(arena, &out->attrs, attr);
            break;
        case 7: out->domain = text_of(arena, f.bytes); break;
        default: break;
        }
    }
}

static const char *value_name(Arena *arena, Wire w) {
    Field f;
    while (next_field(&w, &f)) {
        if (f.number == 1) return text_of(arena, f.bytes);
    }
    return "";
}

static void read_graph(Arena *arena, Wire w, OnnxModel *out) {
    Field f;
    OnnxNode node;
    OnnxTensor tensor;
    while (next_field(&w, &f)) {
        switch (f.number) {
        case 1:
            read_node(arena, f.bytes, &node);
            vec_push(arena, &out->nodes, node);
            break;
        case 5:
            read_tensor(arena, f.bytes, &tensor);
            vec_push(arena, &out->initializers, tensor);
            break;
        case 11: vec_push(arena, &out->inputs, value_name(arena, f.bytes)); break;
        case 12: vec_push(arena, &out->outputs, value_name(arena, f.bytes)); break;
        default: break;
        }
    }
}

static bool read_file(Arena *arena, const char *path, Wire *out) {
    FILE *file = fopen(path, "rb");
    if (!file) return false;
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    rewind(file);
    uint8_t *bytes = arena_alloc(arena, size > 0 ? (size_t)size : 1);
    bool ok = size >= 0 && fread(bytes, 1, (size_t)size, file) == (size_t)size;
    fclose(file);
    *out = (Wire){bytes, bytes + (size > 0 ? size : 0), false};
    return ok;
}

bool onnx_read_tensor(Arena *arena, const char *path, OnnxTensor *out) {
    Wire w;
    if (!read_file(arena, path, &w)) return false;
    read_tensor(arena, w, out);
    return true;
}

bool onnx_read_model(Arena *arena, const char *path, OnnxModel *out) {
    Wire w;
    Field f, inner;
    *out = (OnnxModel){0};
    if (!read_file(arena, path, &w)) return false;
    while (next_field(&w, &f)) {
        if (f.number == 7) read_graph(arena, f.bytes, out);
        if (f.number == 25) out->functions = true;
        const char *domain = "";
        int64_t version = 0;
        Wire opset = f.bytes;
        while (f.number == 8 && next_field(&opset, &inner)) {
            if (inner.number == 1) domain = text_of(arena, inner.bytes);
            if (inner.number == 2) version = (int64_t)inner.value;
        }
        if (f.number == 8 && (!*domain || !strcmp(domain, "ai.onnx"))) out->opset = version;
    }
    return !w.bad;
}

const OnnxAttr *onnx_attr(const OnnxNode *node, const char *name) {
    for (uint32_t i = 0; i < node->attrs.len; i++) {
        if (!strcmp(node->attrs.at[i].name, name)) return &node->attrs.at[i];
    }
    return NULL;
}
