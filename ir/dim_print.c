// Prints and postfix visits of dims.
#include "ir/dim_table.h"

// ---- the language's syntax ----

static void print_atom(const DimTable *table, uint32_t id, Text *out);

// A sum, or a negative number, needs parentheses as an operand.
static bool is_simple(const DimTable *table, Dim dim) {
    const Expr *expr = &table->exprs.at[dim];
    return expr->count == 0 || (expr->count == 1 && expr->term[0].coef > 0);
}

static bool is_single_factor(const DimTable *table, Dim dim) {
    const Expr *expr = &table->exprs.at[dim];
    if (!is_simple(table, dim)) return false;
    if (expr->count == 0 || expr->term[0].mono == 0) return true;
    const Mono *mono = &table->monos.at[expr->term[0].mono];
    if (expr->term[0].coef != 1 || mono->degree != 1) return false;
    DimOp op = table->atoms.at[mono->atom[0]].op;
    return op != DIM_OP_FLOOR_DIV && op != DIM_OP_FLOOR_MOD;
}

static void print_operand(const DimTable *table, Dim dim, bool bare, Text *out) {
    if (!bare) text_put(out, "(");
    dim_print(table, dim, out);
    if (!bare) text_put(out, ")");
}

static void print_atom(const DimTable *table, uint32_t id, Text *out) {
    const Atom *atom = &table->atoms.at[id];
    switch (atom->op) {
    case DIM_OP_SYMBOL: text_put(out, table->symbol[atom->symbol].name); return;
    case DIM_OP_FLOOR_DIV:
    case DIM_OP_FLOOR_MOD:
        print_operand(table, atom->a, is_simple(table, atom->a), out);
        text_put(out, atom->op == DIM_OP_FLOOR_DIV ? " // " : " % ");
        print_operand(table, atom->b, is_single_factor(table, atom->b), out);
        return;
    default:
        text_put(out, atom->op == DIM_OP_MIN ? "minimum(" : "maximum(");
        dim_print(table, atom->a, out);
        text_put(out, ", ");
        dim_print(table, atom->b, out);
        text_put(out, ")");
    }
}

// coef * mono with coef > 0. `bound`: a sign or factor stands directly before it.
static void print_term(const DimTable *table, int64_t coef, uint32_t id, bool bound, Text *out) {
    const Mono *mono = &table->monos.at[id];
    for (uint32_t i = 0; i < mono->degree; i++) {
        DimOp op = table->atoms.at[mono->atom[i]].op;
        bool division = op == DIM_OP_FLOOR_DIV || op == DIM_OP_FLOOR_MOD;
        bool closed = division && (i > 0 || bound);
        if (i) text_put(out, " * ");
        if (closed) text_put(out, "(");
        print_atom(table, mono->atom[i], out);
        if (closed) text_put(out, ")");
    }
    if (mono->degree == 0)
        text_printf(out, "%lld", (long long)coef);
    else if (coef != 1)
        text_printf(out, " * %lld", (long long)coef);
}

// Positive terms first, so that a leading minus is rare.
void dim_print(const DimTable *table, Dim dim, Text *out) {
    if (!dim_known(table, dim)) {
        text_put(out, "?");
        return;
    }
    const Expr *expr = &table->exprs.at[dim];
    if (expr->count == 0) text_put(out, "0");
    bool any = false;
    for (int sign = 1; sign >= -1; sign -= 2)
        for (uint32_t i = 0; i < expr->count; i++) {
            int64_t coef = expr->term[i].coef;
            if ((coef > 0) != (sign > 0)) continue;
            if (any)
                text_put(out, sign > 0 ? " + " : " - ");
            else if (sign < 0)
                text_put(out, "-");
            print_term(table, coef < 0 ? -coef : coef, expr->term[i].mono, !any && sign < 0, out);
            any = true;
        }
}

// ---- postfix ----

static void visit_atom(const DimTable *table, uint32_t id, DimVisit *visit, void *user) {
    const Atom *atom = &table->atoms.at[id];
    if (atom->op == DIM_OP_SYMBOL) {
        visit(user, DIM_OP_SYMBOL, atom->symbol);
        return;
    }
    dim_visit(table, atom->a, visit, user);
    dim_visit(table, atom->b, visit, user);
    visit(user, atom->op, 0);
}

void dim_visit(const DimTable *table, Dim dim, DimVisit *visit, void *user) {
    if (!dim_known(table, dim)) return;
    const Expr *expr = &table->exprs.at[dim];
    if (expr->count == 0) visit(user, DIM_OP_CONST, 0);
    for (uint32_t i = 0; i < expr->count; i++) {
        const Mono *mono = &table->monos.at[expr->term[i].mono];
        for (uint32_t j = 0; j < mono->degree; j++) {
            visit_atom(table, mono->atom[j], visit, user);
            if (j) visit(user, DIM_OP_MUL, 0);
        }
        if (expr->term[i].coef != 1 || mono->degree == 0)
            visit(user, DIM_OP_CONST, expr->term[i].coef);
        if (expr->term[i].coef != 1 && mono->degree) visit(user, DIM_OP_MUL, 0);
        if (i) visit(user, DIM_OP_ADD, 0);
    }
}
