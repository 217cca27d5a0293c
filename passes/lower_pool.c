// Windows of a product that are pooled: where their cells lie, and what becomes of their sums.
#include "passes/lower_contract.h"
#include "passes/lower_reduce.h"

uint8_t contract_column(Lower *l, const ContractShape *shape, KVal window, KVal cell, KVal *out,
                        Address *at) {
    if (!shape->scattered) {
        KVal first = k_imul(l->b, window, k_i32(l->b, (int32_t)shape->cells));
        out[0] = k_iadd(l->b, first, cell);
        *at = (Address){0};
        return 1;
    }
    Dim size[2] = {shape->windows, dim_const(l->dims, shape->cells)};
    Space space = space_of(l, 2, size);
    Point point = point_make(&space, 1);
    point.index[0] = window, point.index[1] = cell;
    DType dtype = graph_value(l->graph, shape->pooled)->type.dtype;
    Address address = lower_address(l, &shape->cell, &point, 0, dtype);
    KVal index = address.index;
    if (address.valid) index = k_select(l->b, address.valid, index, k_i32(l->b, 0));
    lower_split(l, index, shape->n_axes, shape->n_size, out);
    *at = address;
    return shape->n_axes;
}

Space contract_pooled_space(Lower *l, const ContractShape *shape) {
    const Node *reduce = graph_node(l->graph, shape->pool);
    const Type *pooled = &graph_value(l->graph, reduce->result[0])->type;
    Space space = space_of(l, pooled->rank, pooled->size);
    space.rank = 3;
    space.size[0] = shape->batch, space.size[1] = shape->m, space.size[2] = shape->windows;
    return space;
}

KVal contract_window_value(Lower *l, const Split *split, const KVal *place, KVal cell, KVal sum) {
    const ContractShape *shape = split->shape;
    Point point = point_make(&split->sums, 1);
    Address at;
    point.index[0] = place[0], point.index[1] = place[1];
    contract_column(l, shape, place[2], cell, &point.index[2], &at);
    point_set(l, &point, shape->result, contract_result(l, shape, sum));
    KVal value = lower_value(l, shape->pooled, &point);
    return at.valid ? k_select(l->b, at.valid, value, at.pad) : value;
}

void contract_put_pooled(Lower *l, const Split *split, const Space *pooled, const KVal *place,
                         KVal result) {
    const Node *reduce = graph_node(l->graph, split->shape->pool);
    DType dtype = graph_value(l->graph, reduce->result[0])->type.dtype;
    if (l->plan->strict_rounding) result = lower_round(l->b, result, dtype);
    Point point = point_make(pooled, 1);
    for (unsigned i = 0; i < 3; i++) point.index[i] = place[i];
    point_set(l, &point, reduce->result[0], result);
    for (uint32_t r = 0; r < split->stores.len; r++) lower_result(l, split->stores.at[r], &point);
}

void contract_put_window(Lower *l, const Split *split, const Space *pooled, const KVal *place,
                         const KVal *sum) {
    KBuilder *b = l->b;
    const ContractShape *shape = split->shape;
    Fold fold = fold_of(l->graph, graph_node(l->graph, shape->pool));
    KVal state[2];
    fold_start(l, &fold, 1, state);
    for (unsigned cell = 0; cell < shape->cells; cell++) {
        KVal number = k_i32(b, (int32_t)cell);
        KVal value = contract_window_value(l, split, place, number, sum[cell]);
        fold_value(l, &fold, state, value, number);
    }
    contract_put_pooled(l, split, pooled, place, fold_result(l, &fold, state));
}
