#include "passes/scan_shape.h"

#include "passes/build.h"

bool scan_shape(const Graph *g, const Node *fused, ScanShape *out) {
    DimTable *dims = g->dims;
    NodeId id = fused_find(g, fused, OC_SCAN);
    if (!id) return false;
    const Node *node = graph_node(g, id);
    const Type *type = &graph_value(g, node->result[0])->type;
    *out = (ScanShape){.node = node, .rank = type->rank, .rows = dim_const(dims, 1)};
    out->axis = (uint8_t)build_attr(node, "axis")->i;
    out->length = out->block = type->size[out->axis];
    out->blocks = dim_const(dims, 1);
    for (uint8_t a = 0; a < type->rank; a++)
        if (a != out->axis) out->rows = dim_mul(dims, out->rows, type->size[a]);
    int index = op_attr_index(op_info(node->op), "chunk");
    if (index < 0 || node->attr[index].i == 0) return true;
    out->block = dim_const(dims, node->attr[index].i);
    out->blocks = dim_ceil_div(dims, out->length, out->block);
    return true;
}
