// What the forms of family "contract" share.
#pragma once

#include "passes/contract_shape.h"
#include "passes/lower.h"

// The result's space: [batch, M, N]; with scattered pooling the N axes by themselves.
Space contract_sums_space(Lower *l, const ContractShape *shape);
// A sum (f32 or i32) as the contract's result type holds it.
KVal contract_result(Lower *l, const ContractShape *shape, KVal sum);
// Narrows *inside (0: true) where the last tile reaches past the end.
void contract_limit(Lower *l, KVal index, Dim extent, unsigned tile, KVal *inside);
