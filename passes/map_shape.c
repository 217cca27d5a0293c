#include "passes/map_shape.h"

static bool map_read_view(const Graph *g, const Node *node, ValueId value, const Type *shape,
                          MapRead *out) {
    DimTable *dims = g->dims;
    View own, wide;
    bool copy = op_info(node->op)->class == OC_MOVE;
    if (!(copy ? graph_copy_view : graph_view)(g, value, &out->base, &own)) return false;
    Type seen = {.rank = own.rank};
    for (uint8_t a = 0; a < own.rank; a++) seen.size[a] = own.size[a];
    Dim total = type_elements(dims, shape);
    if (type_elements(dims, &seen) != total) {
        if (!view_broadcast(dims, &own, shape->rank, shape->size, &wide)) return false;
        own = wide;
    }
    return view_reshape(dims, &own, 1, &total, &out->view);
}

MapReads map_reads(Arena *arena, const Graph *g, const Node *fused) {
    MapReads reads = {0};
    Type shape = fused_map_shape(g, fused);
    const Region *body = &g->regions.at[fused->body];
    for (uint32_t i = 0; i < body->nodes.len; i++) {
        const Node *node = graph_node(g, body->nodes.at[i]);
        OpClass class = op_info(node->op)->class;
        if (node->inline_view) continue;
        for (uint32_t o = class == OC_STATE; o < node->operands; o++) {
            bool copy = class == OC_MOVE, known = false;
            ValueId value = copy ? node->result[0] : node->operand[o];
            for (uint32_t k = 0; k < reads.len; k++) known |= reads.at[k].value == value;
            MapRead read = {.value = value, .gathered = class == OC_GATHER};
            if (!value || known || !map_read_view(g, node, value, &shape, &read)) continue;
            NodeId from = graph_value(g, read.base)->node;
            if (from && graph_node(g, from)->region == fused->body) continue;
            vec_push(arena, &reads, read);
        }
    }
    return reads;
}

static bool map_is_one(DimTable *dims, Dim dim) {
    return dim_is(dims, dim, 1);
}

// Splits the linear order at the digit along which the operand's neighbours lie.
bool map_split(DimTable *dims, const View *view, MapTile *out) {
    int last = view->digits - 1;
    if (view->inner) return false;
    while (last >= 0 && map_is_one(dims, view->digit[last].size)) last--;
    int unit = last;
    for (; unit >= 0; unit--) {
        Dim stride = view->digit[unit].stride;
        bool near = dim_is(dims, stride, 1) || dim_is(dims, stride, -1);
        if (near && !map_is_one(dims, view->digit[unit].size)) break;
    }
    if (unit < 0 || unit == last || dim_is(dims, view->digit[last].stride, 0)) return false;
    out->outer = out->run = dim_const(dims, 1);
    out->side = view->digit[unit].size;
    for (int d = 0; d < unit; d++) out->outer = dim_mul(dims, out->outer, view->digit[d].size);
    for (int d = unit + 1; d <= last; d++) out->run = dim_mul(dims, out->run, view->digit[d].size);
    return true;
}

static bool map_turn(DimTable *dims, const MapTile *tile, const View *view, View *out) {
    View split;
    Dim size[] = {tile->outer, tile->side, tile->run};
    return view_reshape(dims, view, 3, size, &split) &&
           view_permute(dims, &split, (uint8_t[]){0, 2, 1}, out);
}

// Bytes that an operand's elements take, as far as a constant tells.
static unsigned map_weight(const Graph *g, const MapRead *read) {
    return dtype_bytes(graph_value(g, read->base)->type.dtype);
}

bool map_tile(Arena *arena, const Graph *g, const MapReads *reads, MapTile *out) {
    DimTable *dims = g->dims;
    unsigned heaviest = 0;
    MapTile split;
    for (uint32_t i = 0; i < reads->len; i++) {
        const MapRead *read = &reads->at[i];
        if (read->gathered || !map_split(dims, &read->view, &split)) continue;
        if (map_weight(g, read) <= heaviest) continue;
        heaviest = map_weight(g, read);
        *out = (MapTile){.outer = split.outer, .side = split.side, .run = split.run};
    }
    for (uint32_t i = 0; heaviest && i < reads->len; i++) {
        MapRead read = reads->at[i];
        if (read.gathered || !map_split(dims, &read.view, &split)) continue;
        if (split.side != out->side || split.run != out->run) continue;
        if (map_turn(dims, out, &reads->at[i].view, &read.view))
            vec_push(arena, &out->turned, read);
    }
    return out->turned.len > 0 && heaviest;
}
