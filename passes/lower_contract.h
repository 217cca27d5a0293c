// What the forms of family "contract" share.
#pragma once

#include "passes/contract_split.h"
#include "passes/lower.h"

// The result's space: [batch, M, N]; with scattered pooling the N axes by themselves.
Space contract_sums_space(Lower *l, const ContractShape *shape);
// An operand's space: [batch, M or N, K], or [batch, K, M or N] where K is not last.
Space contract_operand_space(Lower *l, const ContractShape *shape, ValueId operand, bool columns,
                             bool k_last);
// A sum (f32 or i32) as the contract's result type holds it.
KVal contract_result(Lower *l, const ContractShape *shape, KVal sum);
// Narrows *inside (0: true) where the last tile reaches past the end.
void contract_limit(Lower *l, KVal index, Dim extent, unsigned tile, KVal *inside);

// One more product in a sum (f32 or i32); rounded twice where rounding is strict.
KVal contract_multiply_add(Lower *l, bool is_float, KVal x, KVal y, KVal sum);

// lower_split.c: K in parts, or in one, and where sums go.
typedef struct Split {
    const ContractShape *shape;
    ContractSplit layout;
    Dim groups;        // workgroups of all parts
    KVal part;         // of this workgroup
    KVal first, end;   // of its K
    KVal pointer;      // parts > 1: of workspace
    Space space, sums; // of workspace, of the result
    Space windows;     // of what maps make of the product's parts
    View view;         // of workspace
    ValueList stores;  // of the fused node
    bool is_float;
} Split;

// Called first in a kernel: `groups` workgroups make the product, or each part of it; gives the
// number of this one among them. False and failed where the product cannot be split.
bool contract_open(Lower *l, const ContractShape *shape, Dim groups, Split *split, KVal *group);
// Does with the sum (f32 or i32) at a point of `sums` what comes next: what follows the product, or
// workspace. The space stays that of the caller where K is not split.
void contract_put(Lower *l, Split *split, Point *point, KVal sum);
// Finishes the kernel; where K is split another one follows.
bool contract_close(Lower *l, const Split *split);

// lower_pool.c: the result in windows that are pooled.

// The N axes of a window's cell, joined where cells are neighbouring columns, and the element that
// it reads; how many indices were written to out.
uint8_t contract_column(Lower *l, const ContractShape *shape, KVal window, KVal cell, KVal *out,
                        Address *at);
// The pooled result's space: [batch, M, windows].
Space contract_pooled_space(Lower *l, const ContractShape *shape);
// One window, at a place of that space: its cells' sums, what follows them, folded, then what
// follows the reduction.
void contract_put_window(Lower *l, const Split *split, const Space *pooled, const KVal *place,
                         const KVal *sum);
// The parts of that: what follows a cell's sum, to be folded; and what follows the reduction.
KVal contract_window_value(Lower *l, const Split *split, const KVal *place, KVal cell, KVal sum);
void contract_put_pooled(Lower *l, const Split *split, const Space *pooled, const KVal *place,
                         KVal result);
