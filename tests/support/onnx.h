// A small reader of ONNX node tests, for conformance tests only: the wire format (protobuf),
// tensors, and the one graph of a model.
#pragma once

#include "ir/eval.h"

typedef struct OnnxTensor {
    const char *name;
    int onnx_type; // TensorProto.DataType
    Tensor tensor; // dtype DT_NONE where the type is none of ours; i64 arrives as i32
} OnnxTensor;

typedef struct OnnxAttr {
    const char *name;
    double f;
    int64_t i;
    const char *s;
    int64_t *ints;
    uint32_t int_count;
    double *floats;
    uint32_t float_count;
    OnnxTensor *t;
} OnnxAttr;

typedef struct OnnxNode {
    const char *op, *domain;
    VEC(const char *) inputs; // "" for an absent one
    VEC(const char *) outputs;
    VEC(OnnxAttr) attrs;
} OnnxNode;

typedef struct OnnxModel {
    int64_t opset;
    VEC(OnnxNode) nodes;
    VEC(OnnxTensor) initializers;
    VEC(const char *) inputs;
    VEC(const char *) outputs;
    bool functions; // has local functions or sequence types
} OnnxModel;

// False where the file is missing or damaged. Everything is in the arena.
bool onnx_read_model(Arena *arena, const char *path, OnnxModel *out);
bool onnx_read_tensor(Arena *arena, const char *path, OnnxTensor *out);
const OnnxAttr *onnx_attr(const OnnxNode *node, const char *name); // NULL if absent

// Adds the node's ops to the graph. ONNX_NOT_OURS: no op, attribute or dtype of ours says this.
typedef enum OnnxStatus { ONNX_OK, ONNX_NOT_OURS, ONNX_REFUSED } OnnxStatus;
typedef struct OnnxBinding {
    const char *name;
    ValueId value;
    const Tensor *known; // the data, when it is an input or initializer
} OnnxBinding;
typedef struct OnnxImport {
    Graph *graph;
    Diags *diags;
    const OnnxModel *model;
    VEC(OnnxBinding) bindings;
    const char *why; // of the last status but ONNX_OK
} OnnxImport;
OnnxStatus onnx_add_node(OnnxImport *import, const OnnxNode *node);
void onnx_bind(OnnxImport *import, const char *name, ValueId value, const Tensor *known);
const OnnxBinding *onnx_find(const OnnxImport *import, const char *name);
