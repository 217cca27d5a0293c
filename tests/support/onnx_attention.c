// Attention, with heads as an axis or side by side in the last one, and with what was there before.
#include "tests/support/onnx_map.h"

// [B, L, H D] as [B, H, L, D], or back.
static ValueId split_heads(OnnxMap *m, ValueId x, int64_t heads) {
    if (!x || onnx_type(m, x)->rank != 3 || heads < 1) return x;
    int64_t shape[] = {onnx_size(m, x, 0), onnx_size(m, x, 1), heads, onnx_size(m, x, 2) / heads};
    x = onnx_apply(m, OP_RESHAPE, 1, &x, (Attr[]){onnx_sizes(m, shape, 4)});
    return x ? onnx_apply(m, OP_PERMUTE_DIMS, 1, &x,
                          (Attr[]){onnx_ints(m, (int64_t[]){0, 2, 1, 3}, 4)})
             : 0;
}

static ValueId join_heads(OnnxMap *m, ValueId x) {
    if (!x) return 0;
    int64_t shape[] = {onnx_size(m, x, 0), onnx_size(m, x, 2),
                       onnx_size(m, x, 1) * onnx_size(m, x, 3)};
    x = onnx_apply(m, OP_PERMUTE_DIMS, 1, &x, (Attr[]){onnx_ints(m, (int64_t[]){0, 2, 1, 3}, 4)});
    return x ? onnx_apply(m, OP_RESHAPE, 1, &x, (Attr[]){onnx_sizes(m, shape, 3)}) : 0;
}

static ValueId after_past(OnnxMap *m, uint32_t past, ValueId x) {
    ValueId before = onnx_input(m, past);
    if (!before || !x) return x;
    return onnx_apply(m, OP_CONCAT, 2, (ValueId[]){before, x}, (Attr[]){attr_int(2)});
}

// ONNX aligns causal masks so that the first query sees what was there before and its own key; ours
// the last query with the last key.
static bool causal_as_ours(OnnxMap *m, ValueId q, ValueId k) {
    ValueId past = onnx_input(m, 4);
    int64_t before = past ? onnx_size(m, past, 2) : 0;
    return onnx_size(m, k, 2) - onnx_size(m, q, 2) == before;
}

void onnx_map_attention(OnnxMap *m, OpId op) {
    ValueId in = onnx_input(m, 0), q = split_heads(m, in, onnx_int(m, "q_num_heads", 0));
    ValueId k = split_heads(m, onnx_input(m, 1), onnx_int(m, "kv_num_heads", 0));
    ValueId v = split_heads(m, onnx_input(m, 2), onnx_int(m, "kv_num_heads", 0));
    k = after_past(m, 4, k), v = after_past(m, 5, v);
    bool causal = onnx_int(m, "is_causal", 0);
    double scale = onnx_float(m, "scale", 0), softcap = onnx_float(m, "softcap", 0);
    if (!q || !k || !v) return;
    if (m->node->outputs.len > 3 && *m->node->outputs.at[3])
        onnx_refuse(m, ONNX_NOT_OURS, "scores as an output");
    if (onnx_input(m, 6)) onnx_refuse(m, ONNX_NOT_OURS, "lengths of keys");
    if (causal && !causal_as_ours(m, q, k)) onnx_refuse(m, ONNX_NOT_OURS, "another causal mask");
    Attr attrs[5] = {attr_int(causal), scale != 0 ? attr_float(scale) : attr_none(), attr_int(1),
                     softcap != 0 ? attr_float(softcap) : attr_none(), attr_none()};
    ValueId y = onnx_apply(m, op, 4, (ValueId[]){q, k, v, onnx_input(m, 3)}, attrs);
    onnx_result(m, 0, in && onnx_type(m, in)->rank == 3 ? join_heads(m, y) : y);
    onnx_result(m, 1, k);
    onnx_result(m, 2, v);
}
