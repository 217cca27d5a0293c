// Types and sizes as written, checks against declared types, const tensors.
#include "frontend/elaborate_state.h"

#include <math.h>
#include <string.h>

enum { SIZE_LIMIT_BITS = 31 };

// ---- dtypes ----

static bool check_dtype(Elab *e, Span span, DType dtype) {
    if (dtype_class(dtype) != DC_LATER) return true;
    if (dtype == DT_I4 || dtype == DT_U4)
        elab_error(e, span, "%s stands only behind `as`", dtype_name(dtype));
    else
        elab_error(e, span, "%s is not in version 1", dtype_name(dtype));
    return false;
}

bool elab_dtype(Elab *e, const TypeSyntax *syntax, DType *out) {
    if (syntax->dtype != DT_NONE) {
        *out = syntax->dtype;
        return check_dtype(e, syntax->dtype_span, *out);
    }
    Binding *binding = scope_find(e->scope, syntax->name);
    if (!binding) {
        elab_error(e, syntax->dtype_span, "unknown dtype %s", syntax->name);
        VEC(const char *) names = {0};
        for (DType dtype = DT_NONE + 1; dtype < DT_COUNT; dtype++)
            vec_push(e->arena, &names, dtype_name(dtype));
        vec_push(e->arena, &names, NULL);
        const char *near = elab_nearest(syntax->name, names.at);
        if (!near) near = scope_nearest(e, e->scope, syntax->name);
        if (near) diag_help(e->diags, "did you mean %s?", near);
        return false;
    }
    if (binding->site) binding->site->used = true;
    if (binding->item.kind == ITEM_ERROR) return false;
    if (binding->item.kind != ITEM_DTYPE) {
        elab_error(e, syntax->dtype_span, "%s is %s, not a dtype", syntax->name,
                   item_kind_name(binding->item));
        return false;
    }
    *out = binding->item.dtype;
    return check_dtype(e, syntax->dtype_span, *out);
}

// ---- sizes and types ----

bool elab_size(Elab *e, const Expr *expr, Dim *out) {
    Item item = elab_expr(e, expr, (Names){0});
    if (item.kind == ITEM_ERROR) return false;
    if (!item_is_size(item)) {
        elab_error(e, expr->span, "a size is an integer, not %s", item_kind_name(item));
        return false;
    }
    int64_t value = item.kind == ITEM_INT ? item.integer : 0;
    if (value < 0 || value >= (int64_t)1 << SIZE_LIMIT_BITS) {
        elab_error(e, expr->span, "the size %lld is not from 0 to 2^31 - 1", (long long)value);
        return false;
    }
    *out = item.kind == ITEM_SIZE ? item.size : dim_const(e->dims, value);
    return true;
}

bool elab_type(Elab *e, const TypeSyntax *syntax, Type *out) {
    *out = (Type){0};
    if (syntax->word != WORD_NONE) {
        elab_error(e, syntax->span, "a tensor's type ends in a dtype such as f32");
        return false;
    }
    bool good = elab_dtype(e, syntax, &out->dtype);
    for (uint32_t i = 0; i < syntax->size.len; i++) {
        const Expr *expr = syntax->size.at[i];
        if (expr->kind == EXPR_ELLIPSIS) {
            const Frame *frame = e->frame;
            while (frame && !frame->function) frame = frame->outer;
            if (!frame || !frame->has_rest) {
                elab_error(e, expr->span, "'...' stands only in signatures");
                return false;
            }
            for (uint32_t j = 0; j < frame->rest_count && out->rank < RANK_MAX; j++)
                out->size[out->rank++] = frame->rest[j];
            continue;
        }
        Dim size = DIM_NONE;
        if (!elab_size(e, expr, &size)) good = false;
        if (out->rank == RANK_MAX) {
            elab_error(e, syntax->span, "the rank is over the limit of %d", RANK_MAX);
            return false;
        }
        out->size[out->rank++] = size;
    }
    return good;
}

bool type_is_constant(Elab *e, const Type *type) {
    for (unsigned axis = 0; axis < type->rank; axis++)
        if (!dim_is_const(e->dims, type->size[axis], NULL)) return false;
    return true;
}

bool elab_check_type(Elab *e, Span span, const char *what, ValueId value, const Type *declared) {
    if (!value) return false;
    const Type *type = &graph_value(e->graph, value)->type;
    bool same = type->dtype == declared->dtype && type->rank == declared->rank;
    for (unsigned axis = 0; same && axis < type->rank; axis++)
        same = dim_proved(e->dims, type->size[axis], DIM_EQ, declared->size[axis]);
    if (!same)
        elab_error(e, span, "%s is %s, not %s", what, elab_type_text(e, type),
                   elab_type_text(e, declared));
    return same;
}

ValueId elab_typed(Elab *e, Span span, const char *what, Item item, const Type *declared) {
    if (item_is_scalar(item) && declared->rank == 0)
        return elab_value(e, span, item, declared->dtype);
    ValueId value = elab_value(e, span, item, DT_NONE);
    return value && elab_check_type(e, span, what, value, declared) ? value : 0;
}

// ---- const tensors ----

typedef struct Fill {
    Elab *e;
    const Word *name;
    const Type *type;
    double *data;
    uint64_t count, room;
} Fill;

static bool fill_number(Fill *fill, Item item) {
    DType dtype = fill->type->dtype;
    double value = item.kind == ITEM_INT    ? (double)item.integer
                   : item.kind == ITEM_BOOL ? (double)item.boolean
                                            : item.number;
    bool is_bool = item.kind == ITEM_BOOL;
    const char *fault = NULL;
    if (!item_is_number(item) && !is_bool)
        fault = "a const tensor's elements are numbers";
    else if (is_bool != (dtype == DT_BOOL))
        fault = "bools go with bool alone";
    else if (item.kind == ITEM_FLOAT && !dtype_is_float(dtype))
        fault = "a float does not go into an integer tensor";
    else if (dtype_is_float(dtype) && isfinite(value) && isinf(number_cast(dtype, value)))
        fault = "an element is infinite in this dtype";
    else if (dtype_is_int(dtype)) {
        bool sign = dtype_is_signed(dtype);
        double limit = ldexp(1, (int)dtype_bits(dtype) - sign);
        if (value >= limit || value < (sign ? -limit : 0)) fault = "an element is out of range";
    }
    if (fault) {
        elab_error(fill->e, fill->name->span, "%s: %s", fill->name->text, fault);
        return false;
    }
    if (fill->count < fill->room) fill->data[fill->count] = value;
    fill->count++;
    return true;
}

static bool fill_list(Fill *fill, Item item, unsigned axis) {
    if (item.kind == ITEM_ERROR) return false;
    if (axis == fill->type->rank) return fill_number(fill, item);
    int64_t size = 0;
    dim_is_const(fill->e->dims, fill->type->size[axis], &size);
    if (item.kind != ITEM_LIST || item.list.count != size) {
        elab_error(fill->e, fill->name->span, "%s: axis %u needs a list of %lld elements",
                   fill->name->text, axis, (long long)size);
        return false;
    }
    for (uint32_t i = 0; i < item.list.count; i++)
        if (!fill_list(fill, item.list.at[i], axis + 1)) return false;
    return true;
}

ValueId elab_const_tensor(Elab *e, const Word *name, Item item, const Type *type) {
    int64_t elements = 0;
    if (!dim_is_const(e->dims, type_elements(e->dims, type), &elements)) {
        elab_error(e, name->span, "the shape of a const tensor is constant");
        return 0;
    }
    if (elements > LIST_MAX) {
        elab_error(e, name->span, "a const tensor has at most %d elements", LIST_MAX);
        return 0;
    }
    Fill fill = {.e = e, .name = name, .type = type, .room = (uint64_t)elements};
    fill.data = arena_alloc(e->arena, (size_t)elements * sizeof *fill.data);
    if (!fill_list(&fill, item, 0)) return 0;
    Decl decl = {.const_data = fill.data, .stored = type->dtype};
    const Loc *loc;
    uint32_t locs = elab_locs(e, name->span, &loc);
    NodeSpec spec = {.op = OP_CONST,
                     .loc = loc,
                     .locs = locs,
                     .name = e->frame ? elab_dotted(e, e->frame->path, name->text) : name->text,
                     .exact_name = e->dump,
                     .decl = &decl,
                     .type = type,
                     .span = name->span};
    NodeId node = graph_add(e->graph, e->diags, &spec);
    if (!node) elab_notes(e);
    return graph_result(e->graph, node, 0);
}
