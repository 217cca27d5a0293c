// Family "contract": its forms, and what they share.
#include "passes/lower_contract.h"

#include <string.h>

#include "passes/lower_coop.h"
#include "passes/lower_planes.h"
#include "passes/lower_simt.h"

Space contract_sums_space(Lower *l, const ContractShape *shape) {
    const Type *type = &graph_value(l->graph, shape->result)->type;
    Space space = space_of(l, type->rank, type->size);
    space.rank = 3;
    space.size[0] = shape->batch, space.size[1] = shape->m, space.size[2] = shape->n;
    if (!shape->scattered) return space;
    space.rank = (uint8_t)(2 + shape->n_axes);
    for (uint8_t a = 0; a < shape->n_axes; a++) space.size[2 + a] = shape->n_size[a];
    return space;
}

Space contract_operand_space(Lower *l, const ContractShape *shape, ValueId operand, bool columns,
                             bool k_last) {
    const Type *type = &graph_value(l->graph, operand)->type;
    Space space = space_of(l, type->rank, type->size);
    uint8_t others = columns ? shape->n_axes : shape->m_axes;
    Dim extent = columns ? shape->n : shape->m;
    space.rank = 3;
    space.size[0] = shape->batch;
    space.size[1] = k_last ? extent : shape->k;
    space.size[2] = k_last ? shape->k : extent;
    if (k_last) return space;
    space.permuted = true; // [batch.., K.., others..]
    uint8_t at = shape->batch_axes;
    for (uint8_t a = 0; a < shape->k_axes; a++)
        space.axes[at++] = (uint8_t)(shape->batch_axes + others + a);
    for (uint8_t a = 0; a < others; a++) space.axes[at++] = (uint8_t)(shape->batch_axes + a);
    return space;
}

KVal contract_result(Lower *l, const ContractShape *shape, KVal sum) {
    DType to = graph_value(l->graph, shape->result)->type.dtype;
    bool is_float = dtype_is_float(graph_value(l->graph, shape->x)->type.dtype);
    if (!is_float) return lower_cast(l->b, sum, DT_I32, to);
    return l->plan->strict_rounding ? lower_round(l->b, sum, to) : sum;
}

KVal contract_multiply_add(Lower *l, bool is_float, KVal x, KVal y, KVal sum) {
    KBuilder *b = l->b;
    if (!is_float) return k_iadd(b, k_imul(b, x, y), sum);
    if (l->plan->strict_rounding) return k_fadd(b, k_fmul(b, x, y), sum);
    return k_fma(b, x, y, sum);
}

void contract_limit(Lower *l, KVal index, Dim extent, unsigned tile, KVal *inside) {
    if (dim_divides(l->dims, tile, extent)) return;
    KVal here = k_slt(l->b, index, lower_dim(l, extent));
    *inside = *inside ? k_and(l->b, *inside, here) : here;
}

typedef struct ContractForm {
    const char *name;
    bool (*lower)(Lower *l);
} ContractForm;

static const ContractForm contract_forms[] = {{"simt", lower_simt},     {"coop", lower_coop},
                                              {"skinny", lower_skinny}, {"direct", lower_direct},
                                              {"planes", lower_planes}, {"halves", lower_planes}};

bool lower_contract(Lower *l) {
    const char *form = l->schedule->form ? l->schedule->form : "simt";
    for (unsigned i = 0; i < sizeof contract_forms / sizeof contract_forms[0]; i++)
        if (strcmp(contract_forms[i].name, form) == 0) return contract_forms[i].lower(l);
    lower_fail(l, "there is no form %s of a contract", form);
    return false;
}
