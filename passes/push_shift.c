#include "passes/push.h"
#include "passes/simplify.h"

bool shift_of(const Graph *g, NodeId id, Shift *out) {
    const Node *node = graph_node(g, id);
    if (node->kind != NODE_OP || op_info(node->op)->class != OC_MOVE) return false;
    *out = (Shift){
        .node = node, .reshape = move_is_reshape(node->op), .permute = move_is_permute(node->op)};
    if (!out->reshape && !out->permute && node->op != OP_SLICE) return false;
    out->before = graph_value(g, node->operand[0])->type;
    out->after = graph_value(g, node->result[0])->type;
    if (out->permute) move_axes(node, out->before.rank, out->axes);
    return true;
}

// Gives x the rank of `type` by leading axes of size 1.
static ValueId lead(Builder *b, ValueId x, const Type *type) {
    Type own = build_type(b, x);
    uint32_t more = type->rank - own.rank;
    Dim size[RANK_MAX];
    for (uint32_t i = 0; i < type->rank; i++)
        size[i] = i < more ? dim_const(b->g->dims, 1) : own.size[i - more];
    return build_reshape(b, "lead", x, type->rank, size);
}

// A step of walking two shapes of the same elements: the shortest next blocks [i, *next_i) and
// [j, *next_j) with equal products. Axes of size 1 fall to the block before them.
static bool next_block(DimTable *dims, const Type *a, uint32_t i, uint32_t *next_i, const Type *b,
                       uint32_t j, uint32_t *next_j) {
    Dim one = dim_const(dims, 1), left = one, right = one;
    uint32_t m = i, n = j;
    if (m < a->rank) left = a->size[m++];
    if (n < b->rank) right = b->size[n++];
    while (left != right) {
        bool grow_left = n == b->rank || dim_proved(dims, left, DIM_LT, right);
        if (grow_left && m < a->rank)
            left = dim_mul(dims, left, a->size[m++]);
        else if (n < b->rank)
            right = dim_mul(dims, right, b->size[n++]);
        else
            return false;
    }
    while (m < a->rank && dim_is(dims, a->size[m], 1)) m++;
    while (n < b->rank && dim_is(dims, b->size[n], 1)) n++;
    *next_i = m;
    *next_j = n;
    return true;
}

// Reshape of an x that has size 1 on some axes of `from`, to what broadcasts to `to`: each block of
// axes must be whole or all 1 in x.
static bool thin_reshape(Builder *b, const Type *x, const Type *from, const Type *to, Dim *size) {
    DimTable *dims = b->g->dims;
    Dim one = dim_const(dims, 1);
    for (uint32_t i = 0, j = 0; i < from->rank || j < to->rank;) {
        uint32_t m, n;
        if (!next_block(dims, from, i, &m, to, j, &n)) return false;
        bool whole = true, thin = true;
        for (; i < m; i++) {
            whole &= x->size[i] == from->size[i];
            thin &= x->size[i] == one;
        }
        if (!whole && !thin) return false;
        for (; j < n; j++) size[j] = whole ? to->size[j] : one;
    }
    return true;
}

static ValueId reshaped(Builder *b, const char *part, ValueId x, const Type *from, const Type *to) {
    Dim size[RANK_MAX];
    Type own = build_type(b, x);
    const Node *def = simplify_def(b, x);
    if (def && def->op == OP_BROADCAST_TO) { // spread after the reshape, where that is possible
        ValueId thin = lead(b, def->operand[0], &own);
        Type type = build_type(b, thin);
        if (thin && thin_reshape(b, &type, from, to, size)) {
            thin = build_reshape(b, part, thin, to->rank, size);
            return build_broadcast(b, thin, to->rank, to->size);
        }
    }
    if (!build_same_shape(&own, from)) {
        x = lead(b, x, from);
        own = build_type(b, x);
        if (x && thin_reshape(b, &own, from, to, size))
            return build_reshape(b, part, x, to->rank, size);
        x = build_broadcast(b, x, from->rank, from->size);
    }
    return build_reshape(b, part, x, to->rank, to->size);
}

static ValueId sliced(Builder *b, const Shift *shift, const char *part, ValueId x) {
    x = lead(b, x, &shift->before);
    Type own = build_type(b, x);
    Attr attr[OP_ATTRS_MAX] = {0};
    build_attrs(shift->node, attr);
    const OpInfo *op = op_info(OP_SLICE);
    Attr *starts = &attr[op_attr_index(op, "starts")], *stops = &attr[op_attr_index(op, "stops")];
    Attr *steps = &attr[op_attr_index(op, "steps")];
    Dim start[RANK_MAX], stop[RANK_MAX], one = dim_const(b->g->dims, 1);
    int64_t step[RANK_MAX];
    for (uint32_t i = 0; i < own.rank; i++) {
        bool thin = own.size[i] == one && shift->before.size[i] != one;
        start[i] = thin ? dim_const(b->g->dims, 0) : starts->sizes.at[i];
        stop[i] = thin ? one : stops->sizes.at[i];
        step[i] = thin ? 1 : steps->ints.at[i];
    }
    *starts = attr_sizes(start, own.rank);
    *stops = attr_sizes(stop, own.rank);
    *steps = attr_ints(step, own.rank);
    return build_op(b, OP_SLICE, part, &x, 1, attr);
}

ValueId shift_apply(Builder *b, const Shift *shift, const char *part, ValueId x) {
    if (b->failed || (build_type(b, x).rank == 0 && shift->before.rank)) return x;
    if (shift->permute) return build_permute(b, part, lead(b, x, &shift->before), shift->axes);
    if (shift->reshape) return reshaped(b, part, x, &shift->before, &shift->after);
    return sliced(b, shift, part, x);
}

ValueId shift_undo(Builder *b, const Shift *shift, ValueId x) {
    if (b->failed || (build_type(b, x).rank == 0 && shift->after.rank)) return x;
    if (shift->reshape) return reshaped(b, "undo", x, &shift->after, &shift->before);
    uint8_t axes[RANK_MAX];
    for (uint32_t i = 0; i < shift->before.rank; i++) axes[shift->axes[i]] = (uint8_t)i;
    return build_permute(b, "undo", lead(b, x, &shift->after), axes);
}

// Axes of a contract: counts of its batch, x and y axes, and how a shift rearranges them.
typedef struct Blocks {
    uint32_t batch, m, n, k;
    uint32_t new_batch, new_m; // of the shifted result; the rest is n
    bool swap;                 // the shifted result has y's axes before x's
} Blocks;

static Blocks blocks_of(const Graph *g, const Node *contract) {
    Blocks blocks = {.batch = (uint32_t)build_attr(contract, "batch")->i,
                     .k = (uint32_t)build_attr(contract, "k")->i};
    blocks.m = graph_value(g, contract->operand[0])->type.rank - blocks.batch - blocks.k;
    blocks.n = graph_value(g, contract->operand[1])->type.rank - blocks.batch - blocks.k;
    blocks.new_batch = blocks.batch;
    blocks.new_m = blocks.m;
    return blocks;
}

static bool all_in(const uint8_t *axes, uint32_t count, uint32_t lo, uint32_t hi) {
    for (uint32_t i = 0; i < count; i++)
        if (axes[i] < lo || axes[i] >= hi) return false;
    return true;
}

static bool permute_fits(const Shift *shift, Blocks *blocks) {
    uint32_t batch = blocks->batch, m = blocks->m, n = blocks->n;
    const uint8_t *axes = shift->axes;
    if (!all_in(axes, batch, 0, batch)) return false;
    blocks->swap = !all_in(axes + batch, m, batch, batch + m);
    return !blocks->swap || all_in(axes + batch, n, batch + m, batch + m + n);
}

// How many axes of `type` from `first` on have the product of `count` axes of `old` from `start`.
static bool prefix(DimTable *dims, const Type *old, uint32_t start, uint32_t count,
                   const Type *type, uint32_t first, uint32_t *axes) {
    Dim wanted = dim_const(dims, 1), found = wanted;
    for (uint32_t i = 0; i < count; i++) wanted = dim_mul(dims, wanted, old->size[start + i]);
    for (*axes = 0; found != wanted; (*axes)++) {
        if (first + *axes == type->rank) return false;
        found = dim_mul(dims, found, type->size[first + *axes]);
    }
    return true;
}

static bool reshape_fits(const Graph *g, const Shift *shift, Blocks *blocks) {
    const Type *old = &shift->before, *new = &shift->after;
    if (!prefix(g->dims, old, 0, blocks->batch, new, 0, &blocks->new_batch) ||
        !prefix(g->dims, old, blocks->batch, blocks->m, new, blocks->new_batch, &blocks->new_m)) {
        return false;
    }
    uint32_t rest, used = blocks->new_batch + blocks->new_m;
    if (!prefix(g->dims, old, blocks->batch + blocks->m, blocks->n, new, used, &rest)) return false;
    for (uint32_t i = used + rest; i < new->rank; i++)
        if (!dim_is(g->dims, new->size[i], 1)) return false;
    uint32_t n = new->rank - used;
    return blocks->new_batch + blocks->new_m + blocks->k <= RANK_MAX &&
           blocks->new_batch + n + blocks->k <= RANK_MAX;
}

static bool fits(const Graph *g, const Shift *shift, Blocks *blocks) {
    if (shift->permute) return permute_fits(shift, blocks);
    return shift->reshape ? reshape_fits(g, shift, blocks) : true;
}

bool shift_fits_contract(const Graph *g, const Shift *shift, const Node *contract) {
    Blocks blocks = blocks_of(g, contract);
    return fits(g, shift, &blocks);
}

// One operand of the shifted contract: its own axes are [first, first + count) of the old result.
static ValueId operand(Builder *b, const Shift *shift, const Blocks *blocks, ValueId x,
                       bool is_left) {
    Type own = build_type(b, x), type = own;
    uint32_t first = is_left ? blocks->batch : blocks->batch + blocks->m;
    uint32_t count = is_left ? blocks->m : blocks->n, rank = 0;
    if (shift->permute) {
        uint8_t axes[RANK_MAX];
        for (uint32_t i = 0; i < shift->before.rank; i++) {
            uint32_t axis = shift->axes[i];
            if (axis < blocks->batch)
                axes[rank++] = (uint8_t)axis;
            else if (axis >= first && axis < first + count)
                axes[rank++] = (uint8_t)(axis - first + blocks->batch);
        }
        for (uint32_t i = 0; i < blocks->k; i++, rank++) axes[rank] = (uint8_t)rank;
        return build_permute(b, "rows", x, axes);
    }
    uint32_t k_first = own.rank - blocks->k;
    if (shift->reshape) {
        uint32_t new_first = blocks->new_batch + (is_left ? 0 : blocks->new_m);
        uint32_t stop = is_left ? new_first + blocks->new_m : shift->after.rank;
        for (uint32_t i = 0; i < blocks->new_batch; i++) type.size[rank++] = shift->after.size[i];
        for (uint32_t i = new_first; i < stop; i++) type.size[rank++] = shift->after.size[i];
        for (uint32_t i = 0; i < blocks->k; i++) type.size[rank++] = own.size[k_first + i];
        return build_reshape(b, "rows", x, rank, type.size);
    }
    for (uint32_t i = 0; i < k_first; i++) {
        uint32_t axis = i < blocks->batch ? i : i - blocks->batch + first;
        Dim start = build_attr(shift->node, "starts")->sizes.at[axis];
        Dim stop = build_attr(shift->node, "stops")->sizes.at[axis];
        int64_t step = build_attr(shift->node, "steps")->ints.at[axis];
        x = build_slice(b, "rows", x, i, start, stop, step);
    }
    return x;
}

ValueId shift_contract(Builder *b, const Shift *shift, const char *part, const Node *contract,
                       ValueId x, ValueId y, DType dtype) {
    Blocks blocks = {.batch = (uint32_t)build_attr(contract, "batch")->i,
                     .k = (uint32_t)build_attr(contract, "k")->i};
    blocks.m = build_type(b, x).rank - blocks.batch - blocks.k;
    blocks.n = build_type(b, y).rank - blocks.batch - blocks.k;
    blocks.new_batch = blocks.batch;
    blocks.new_m = blocks.m;
    if (b->failed || !fits(b->g, shift, &blocks)) return 0;
    x = operand(b, shift, &blocks, x, true);
    y = operand(b, shift, &blocks, y, false);
    return build_contract(b, part, blocks.swap ? y : x, blocks.swap ? x : y, blocks.new_batch,
                          blocks.k, dtype);
}
