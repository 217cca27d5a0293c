// The op table: what every op is called, takes, yields and means. ir/ops.def has one row an op; the
// parser's look-up, arity and attribute checks, inference, printing, verification, the reference
// evaluator, `adept ops` and docs/ops.md all read this table. Code elsewhere switches on the class.
#pragma once

#include "ir/diag.h"
#include "ir/type.h"

// What an op is to the passes; no code outside ir/ asks for a single op where a class will do.
typedef enum OpClass {
    OC_MAP,       // one scalar expression per element
    OC_REDUCE,    // folds axes with one associative function (sum, max, argmax ...)
    OC_ROW,       // softmax, norms: decomposed into maps and reduces along axes
    OC_CONTRACT,  // sums of products (matmul, linear, contract)
    OC_WINDOW,    // convolution and pooling: decomposed into contract and reduce over unfold views
    OC_ATTENTION, // scaled_dot_product_attention
    OC_SCAN,      // cumsum, sort, topk
    OC_GATHER,    // reads where other operands say
    OC_MOVE,      // views: transpose, reshape, slice, pad, unfold ... (may be inline operands)
    OC_SOURCE,    // input, param, const tensor, arange, full
    OC_STATE      // state declaration, read and update
} OpClass;

// The stage by which an op must be gone; the verifier checks it after each pass.
typedef enum OpStage {
    STAGE_SOURCE,     // as elaborated
    STAGE_DECOMPOSED, // after decompose: only maps, reduces, contracts, scans, gathers, moves,
                      // sources
    STAGE_FUSED,      // every computing node stands in a `fused`
    STAGE_NEVER       // may stay to the end
} OpStage;

typedef enum OpId {
    OP_NONE = 0,
#define OP(id, ...) OP_##id,
#include "ir/ops.def"
#undef OP
    OP_COUNT
} OpId;

typedef enum AttrKind {
    ATTR_INT, // constant integer
    ATTR_FLOAT,
    ATTR_BOOL,
    ATTR_DTYPE,
    ATTR_STRING, // one of the words listed in AttrSpec.words
    ATTR_SIZE,   // a dim expression
    ATTR_SIZES,  // list of dim expressions
    ATTR_SCALAR  // number or bool as written: `value` of full and pad
} AttrKind;

// A value of an attribute. ATTR_NONE_VALUE marks None (and a default that means None).
typedef struct Attr {
    bool present;  // false: None
    bool is_float; // ATTR_SCALAR: f is meant, else i
    union {
        int64_t i; // ATTR_INT, ATTR_BOOL, integer ATTR_SCALAR
        double f;
        DType dtype;
        const char *s;
        Dim size;
        struct {
            const Dim *at;
            uint32_t n;
        } sizes;
    };
} Attr;

enum { OP_ATTRS_MAX = 8, OP_OPERANDS_MAX = 8 };

typedef struct AttrSpec {
    const char *name;
    AttrKind kind;
    bool required;            // no default
    const char *default_text; // as the language writes it; NULL with required; "None" allowed
    const char *const *words; // ATTR_STRING: the allowed words, NULL-terminated
} AttrSpec;

// How an operand's dtype is checked before the rule runs.
typedef enum OperandDtype {
    OD_SAME, // the op's common dtype (weak scalars take it)
    OD_ANY,  // free (cond, ids, scales; the rule checks)
} OperandDtype;

typedef struct OperandSpec {
    const char *name;
    bool optional, variadic; // variadic: a list `[x, ..]`, only the first operand
    OperandDtype dtype;
} OperandSpec;

// What a dtype must be for the op as a whole.
typedef enum DtypeSet {
    DS_FLOAT = 1,
    DS_INT = 2,
    DS_LOGIC = 4,
    DS_STORE = 8, // f8, i8, u8
    DS_ARITH = DS_FLOAT | DS_INT,
    DS_ALL = 15
} DtypeSet;

// Precision of language.md section 7.
typedef enum OpPrecision { OPREC_EXACT, OPREC_ELEMENT, OPREC_REDUCE, OPREC_MATMUL } OpPrecision;

struct OpCall;
typedef bool InferFn(struct OpCall *call);

typedef struct OpInfo {
    OpId id;
    const char *name;
    OpClass class;
    OpStage gone_by;
    bool internal; // only in dumps (`adept 1 ir`)
    OpPrecision precision;
    DtypeSet dtypes;
    OperandSpec operand[OP_OPERANDS_MAX];
    uint8_t operands;
    AttrSpec attr[OP_ATTRS_MAX];
    uint8_t attrs;
    InferFn *infer;     // shape and dtype rule; reports through call->diags
    const char *scalar; // OC_MAP: the scalar definition as text (docs); NULL otherwise
    const char *doc;
} OpInfo;

const OpInfo *op_info(OpId id);
OpId op_find(const char *name);    // OP_NONE if unknown
const char *const *op_names(void); // NULL-terminated, public ops, sorted: for suggestions
int op_attr_index(const OpInfo *op, const char *name); // -1 if unknown
int op_operand_index(const OpInfo *op, const char *name);

// One application of an op while its types are inferred. The rule reads operand types and
// attributes (which it may normalise, e.g. padding="same" to pairs), and sets result types.
typedef struct OpCall {
    const OpInfo *op;
    DimTable *dims;
    Arena *arena;
    Diags *diags;
    Span span;
    const Span *operand_span;        // per operand, or NULL
    const char *const *operand_name; // for messages, entries may be NULL
    uint32_t operands;
    const Type *operand; // absent optional operands have dtype DT_NONE
    Attr attr[OP_ATTRS_MAX];
    uint32_t results;
    Type *result; // arena; split has one a size
} OpCall;

bool op_infer(OpCall *call); // common dtype checks, then the rule; false after a diagnostic
// The default of an attribute, parsed from the table.
Attr op_attr_default(DimTable *dims, Arena *arena, const AttrSpec *spec);
bool attr_equal(AttrKind kind, const Attr *a, const Attr *b);
void attr_print(const DimTable *dims, AttrKind kind, const Attr *attr, Text *out);
