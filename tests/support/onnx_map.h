// How ONNX ops are said with ours: what the handlers share.
#pragma once

#include "tests/support/onnx.h"

typedef struct OnnxMap {
    OnnxImport *import;
    const OnnxNode *node;
    OnnxStatus status;
} OnnxMap;

ValueId onnx_refuse(OnnxMap *m, OnnxStatus status, const char *why); // 0; the first reason stays
ValueId onnx_input(OnnxMap *m, uint32_t index);                      // 0: absent
const Tensor *onnx_known(OnnxMap *m, uint32_t index);
const Type *onnx_type(OnnxMap *m, ValueId value);
int64_t onnx_size(OnnxMap *m, ValueId value, int axis);
ValueId onnx_apply(OnnxMap *m, OpId op, uint32_t operands, const ValueId *operand,
                   const Attr *attr); // absent attributes take their defaults
void onnx_result(OnnxMap *m, uint32_t index, ValueId value);

int64_t onnx_int(OnnxMap *m, const char *name, int64_t otherwise);
double onnx_float(OnnxMap *m, const char *name, double otherwise);
const char *onnx_string(OnnxMap *m, const char *name, const char *otherwise);
Attr onnx_ints(OnnxMap *m, const int64_t *values, uint32_t count);
Attr onnx_sizes(OnnxMap *m, const int64_t *values, uint32_t count);
// Integers of a known input, or of an attribute. False if neither is there.
bool onnx_ints_of(OnnxMap *m, uint32_t index, const char *attr, int64_t out[64], uint32_t *count);

// onnx_windows.c: the handlers of what slides over images.
typedef void OnnxHandler(OnnxMap *m, OpId op);
OnnxHandler onnx_map_conv, onnx_map_conv_transpose, onnx_map_pool, onnx_map_global_pool,
    onnx_map_instance_norm, onnx_map_resize;
OnnxHandler onnx_map_attention; // onnx_attention.c
