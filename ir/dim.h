// Symbolic sizes: hash-consed integer expressions over declared dims, kept in normal form (a sum of
// products with integer coefficients, in which //, %, minimum and maximum of non-constants are
// atoms). Equal ids mean equal values. The prover knows each symbol's bounds, known divisors, and
// assumed facts.
//
// A table belongs to one graph (and its arena). Ids of different tables do not mix.
// Arithmetic that could leave 64 bits, expressions of more than 64 terms or 4,096 nodes, and any
// operation on DIM_NONE give DIM_NONE. So dim_eval within the symbols' ranges cannot overflow.
#pragma once

#include "ir/base.h"

typedef uint32_t Dim;
enum { DIM_NONE = 0 };

typedef struct DimTable DimTable;

// Where the value of a symbol comes from (architecture.md, idea 10).
typedef enum DimSource {
    DIM_FROM_INPUT, // stands alone in an input's shape: fixed when recording
    DIM_FROM_HOST,  // set by the host for each run: read from the run block, never recorded
    DIM_TRIP        // counter of a repeat: fixed for each dispatch of an unfolded recording
} DimSource;

typedef struct DimBounds {
    int64_t lo, hi; // inclusive
} DimBounds;

DimTable *dim_table_create(Arena *arena);
Arena *dim_arena(const DimTable *table);

Dim dim_const(DimTable *table, int64_t value);
// Declares a symbol; the name is new in the table (else DIM_NONE). lo <= hi, both inclusive.
Dim dim_symbol(DimTable *table, const char *name, int64_t lo, int64_t hi);
Dim dim_find(const DimTable *table, const char *name); // DIM_NONE if unknown
// Symbols are numbered 0.. in order of declaration.
uint32_t dim_symbol_count(const DimTable *table);
Dim dim_symbol_at(const DimTable *table, uint32_t index);
const char *dim_symbol_name(const DimTable *table, uint32_t index);
DimSource dim_symbol_source(const DimTable *table, uint32_t index);
void dim_set_source(DimTable *table, uint32_t index, DimSource source); // DIM_FROM_HOST at first

Dim dim_add(DimTable *table, Dim a, Dim b);
Dim dim_sub(DimTable *table, Dim a, Dim b);
Dim dim_mul(DimTable *table, Dim a, Dim b);
Dim dim_floor_div(DimTable *table, Dim a, Dim b); // x // 0 is 0 and x % 0 is x, as in the language
Dim dim_floor_mod(DimTable *table, Dim a, Dim b);
Dim dim_min(DimTable *table, Dim a, Dim b);
Dim dim_max(DimTable *table, Dim a, Dim b);
Dim dim_ceil_div(DimTable *table, Dim a, Dim b);     // (a + b - 1) // b
Dim dim_align_up(DimTable *table, Dim a, int64_t b); // ceil_div(a, b) * b

bool dim_is_const(const DimTable *table, Dim dim, int64_t *value); // value may be NULL
bool dim_is(const DimTable *table, Dim dim, int64_t value);        // constant and equal to value
DimBounds dim_bounds(const DimTable *table, Dim dim);              // saturates at INT64_MIN / MAX
int64_t dim_multiple(const DimTable *table, Dim dim); // largest known divisor; 0 for the constant 0
bool dim_divides(DimTable *table, int64_t k, Dim dim); // dim % k == 0 is proved
// Proves dim == *quotient * divisor and gives the quotient.
bool dim_exact_div(DimTable *table, Dim dim, Dim divisor, Dim *quotient);

typedef enum DimRelation { DIM_EQ, DIM_NE, DIM_LT, DIM_LE, DIM_GT, DIM_GE } DimRelation;
typedef enum Proof { PROOF_NO, PROOF_YES, PROOF_UNKNOWN } Proof; // refuted, proved, undecided

Proof dim_prove(DimTable *table, Dim a, DimRelation relation, Dim b);
// Whether dim_prove gives PROOF_YES, without a search for the opposite.
bool dim_proved(DimTable *table, Dim a, DimRelation relation, Dim b);
// Adds a fact (from an assert or a run-time check) that later proofs may use.
void dim_assume(DimTable *table, Dim a, DimRelation relation, Dim b);
// Facts that hold only for a while, as under an alternative's conditions: what is assumed between
// begin and end is forgotten at the end. Scopes nest.
typedef struct DimScope DimScope;
DimScope *dim_scope_begin(DimTable *table);
void dim_scope_end(DimTable *table, DimScope *scope);

// Value for given symbol values (indexed by symbol number). False on overflow.
bool dim_eval(const DimTable *table, Dim dim, const int64_t *symbols, int64_t *value);
// Set of symbols in dim: bit i of mask for symbol i (at most 64 symbols a table).
uint64_t dim_symbols(const DimTable *table, Dim dim);
// The same expression in another table, symbols matched by name (declared there if missing).
Dim dim_import(DimTable *to, const DimTable *from, Dim dim);

// The language's syntax; deterministic term order: "N * 3136", "(P + S) // 2".
void dim_print(const DimTable *table, Dim dim, Text *out);

// Visits the expression in postfix order, for bytecode. kind: operands as listed.
typedef enum DimOp {
    DIM_OP_CONST,
    DIM_OP_SYMBOL,
    DIM_OP_ADD,
    DIM_OP_MUL,
    DIM_OP_FLOOR_DIV,
    DIM_OP_FLOOR_MOD,
    DIM_OP_MIN,
    DIM_OP_MAX
} DimOp;
typedef void DimVisit(void *user, DimOp op, int64_t value); // value: the constant or symbol number
void dim_visit(const DimTable *table, Dim dim, DimVisit *visit, void *user);
