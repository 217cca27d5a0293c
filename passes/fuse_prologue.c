// Maps in front of a product: computed as the product reads its operand, instead of by a dispatch
// that writes them to memory. They are then computed once for each tile that needs them, so they
// must be cheap; and fragments of cooperative matrices take operands as they lie in memory, so that
// only products of other forms compute theirs.
#include <math.h>

#include "passes/fuse.h"
#include "passes/product_cost.h"

enum {
    PROLOGUE_ROWS = 16,   // at most so many: each element of y is read once
    PROLOGUE_COLUMNS = 2, // that an invocation makes of them
    PROLOGUE_TILE = 64    // else rows and columns of a workgroup
};

// The tensor that a product reads through moves that read each element once; 0: there is none, or
// something else reads it.
static ValueId prologue_value(const Fuser *f, ValueId operand) {
    const Graph *g = f->g;
    for (;;) {
        NodeId id = graph_value(g, operand)->node;
        const Node *node = id ? graph_node(g, id) : NULL;
        if (!node || node->kind != NODE_OP || f->uses[operand] != 1 || f->stored[operand]) return 0;
        if (!node->inline_view) return operand;
        if (!move_is_reshape(node->op) && !move_is_permute(node->op)) return 0;
        operand = node->operand[0];
    }
}

// Instructions for an element of `value` if the group computes nothing but that, by maps; else 0.
static unsigned prologue_work(const Fuser *f, uint32_t id, ValueId value) {
    const Group *group = &f->groups.at[id];
    unsigned work = 0;
    if (group->dead || group->constant || group->family != FAMILY_MAP) return 0;
    for (uint32_t i = 0; i < group->nodes.len; i++) {
        const Node *node = graph_node(f->g, group->nodes.at[i]);
        if (op_info(node->op)->class != OC_MAP || f->stored[node->result[0]]) return 0;
        work += 1 + op_cost(op_info(node->op));
        uint32_t inside = node->result[0] == value;
        for (uint32_t n = 0; n < group->nodes.len; n++) {
            const Node *reader = graph_node(f->g, group->nodes.at[n]);
            for (uint32_t o = 0; o < reader->operands; o++)
                inside += reader->operand[o] == node->result[0];
        }
        if (inside != f->uses[node->result[0]]) return 0;
    }
    return work;
}

static bool has_fragments(const Target *target, DType dtype) {
    for (uint32_t i = 0; i < target->fragments; i++)
        if (target->fragment[i].ab == dtype) return true;
    return false;
}

typedef struct Prologue {
    Dim elements, others; // of the operand; rows or columns of the other one
    double saved[COST_ENDS], added[COST_ENDS];
    bool pays;
} Prologue;

static Prologue prologue_cost(const Fuser *f, const Node *product, uint32_t which, ValueId value,
                              unsigned work) {
    const Target *target = f->ctx->target;
    const Type *x = &graph_value(f->g, product->operand[0])->type;
    const Type *own = &graph_value(f->g, value)->type;
    const Type *other = &graph_value(f->g, product->operand[1 - which])->type;
    uint32_t batch = (uint32_t)build_attr(product, "batch")->i;
    uint32_t k = (uint32_t)build_attr(product, "k")->i;
    Prologue p = {.elements = type_elements(f->dims, own), .others = dim_const(f->dims, 1)};
    Dim rows = dim_const(f->dims, 1);
    for (uint32_t a = batch; a < other->rank - k; a++)
        p.others = dim_mul(f->dims, p.others, other->size[a]);
    for (uint32_t a = batch; a < x->rank - k; a++) rows = dim_mul(f->dims, rows, x->size[a]);
    double rate = target_product(target, DT_F32)->along_k * 5e5, ratio = 1; // a microsecond
    for (CostEnd end = 0; end < COST_ENDS; end++) {
        double elements = cost_size(f->dims, p.elements, end);
        double others = cost_size(f->dims, p.others, end);
        bool few = cost_size(f->dims, rows, end) <= PROLOGUE_ROWS;
        double times = ceil(others / (!few         ? PROLOGUE_TILE
                                      : which == 0 ? PROLOGUE_COLUMNS
                                                   : others));
        p.saved[end] =
            cost_dispatch(target) + cost_move(target, 2 * elements * dtype_bytes(own->dtype));
        p.added[end] = elements * times * work / rate;
        ratio *= p.added[end] / p.saved[end];
    }
    p.pays = sqrt(ratio) < 0.5;
    return p;
}

static void prologue_reason(const Fuser *f, Group *group, uint32_t which, const Prologue *p) {
    Text text = {0};
    const char *more = group->prologue ? group->prologue : "";
    text_printf(&text, "%s%s%c computed %s: ", more, *more ? "; " : "", which ? 'B' : 'A',
                p->pays ? "as it is read" : "before");
    bool one = p->saved[0] == p->saved[1] && p->added[0] == p->added[1];
    for (CostEnd end = 0; end < (one ? COST_MOST : COST_ENDS); end++) {
        text_put(&text, end ? " to " : "");
        cost_put(&text, p->added[end]);
        text_put(&text, " us again and again, ");
        cost_put(&text, p->saved[end]);
        text_put(&text, " by way of memory");
    }
    group->prologue = arena_strdup(f->arena, text.data);
    text_free(&text);
}

static void take_in(Fuser *f, uint32_t id, uint32_t from) {
    Group *group = &f->groups.at[id], *maps = &f->groups.at[from];
    NodeList nodes = {0};
    for (uint32_t i = 0; i < maps->nodes.len; i++) {
        vec_push(f->arena, &nodes, maps->nodes.at[i]);
        f->group[maps->nodes.at[i]] = id;
    }
    for (uint32_t i = 0; i < group->nodes.len; i++) vec_push(f->arena, &nodes, group->nodes.at[i]);
    group->nodes.at = nodes.at, group->nodes.len = nodes.len, group->nodes.cap = nodes.cap;
    if (maps->first < group->first) group->first = maps->first;
    maps->dead = true;
}

static void prologue_of(Fuser *f, uint32_t id, const Node *product) {
    DType dtype = graph_value(f->g, product->operand[0])->type.dtype;
    bool known = cost_is_known(f->ctx->target, dtype) && target_product(f->ctx->target, DT_F32);
    const Type *x = &graph_value(f->g, product->operand[0])->type;
    Dim rows = dim_const(f->dims, 1);
    uint32_t k = (uint32_t)build_attr(product, "k")->i;
    for (uint32_t a = (uint32_t)build_attr(product, "batch")->i; a < x->rank - k; a++)
        rows = dim_mul(f->dims, rows, x->size[a]);
    bool few = dim_bounds(f->dims, rows).hi <= PROLOGUE_ROWS;
    if (!known || (has_fragments(f->ctx->target, dtype) && !few)) return;
    for (uint32_t which = 0; which < 2; which++) {
        ValueId value = prologue_value(f, product->operand[which]);
        uint32_t from = value ? f->group[graph_value(f->g, value)->node] : 0;
        unsigned work = from && from != id ? prologue_work(f, from, value) : 0;
        if (!work) continue;
        Prologue p = prologue_cost(f, product, which, value, work);
        prologue_reason(f, &f->groups.at[id], which, &p);
        if (p.pays) take_in(f, id, from);
    }
}

void fuse_prologue(Fuser *f, uint32_t first_group) {
    for (uint32_t id = first_group; id < f->groups.len; id++) {
        const Group *group = &f->groups.at[id];
        if (group->dead || group->family != FAMILY_CONTRACT || group->constant) continue;
        uint32_t i = 0;
        while (graph_node(f->g, group->nodes.at[i])->op != OP_CONTRACT) i++;
        prologue_of(f, id, graph_node(f->g, group->nodes.at[i]));
    }
}
