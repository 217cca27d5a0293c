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
    OC_TRANSFORM, // constant linear maps of small tiles (Winograd's convolution)
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
    ATTR_STRING, // one of the words listed in AttrSpec.words; any text where none are
    ATTR_SIZE,   // a dim expression
    ATTR_SIZES,  // list of dim expressions; one alone counts as a list of one
    ATTR_INTS,   // list of constant integers; a list of one and the integer are the same
    ATTR_PAIRS,  // sizes per axis, before and after: an int, [h, w], [[top, bottom], [left, right]]
                 // or a word (padding); pad's widths are always pairs
    ATTR_SCALAR  // number, bool or size as written: `value` of full, pad and unfold
} AttrKind;

// A value of an attribute. After inference it is in the one form that attr_equal and interning
// rely on: axes count from 0, `None` is resolved where the op defines it, padding has no words and
// is as short as it can be, a float tensor's scalar is a float.
typedef struct Attr {
    bool present;  // false: None
    bool is_float; // ATTR_SCALAR: f is meant
    bool is_size;  // ATTR_SCALAR: size is meant (a dim as a number); neither: i
    union {
        int64_t i; // ATTR_INT, ATTR_BOOL, integer ATTR_SCALAR
        double f;
        DType dtype;
        const char *s;
        Dim size;
        struct {
            const Dim *at;
            uint32_t n;       // entries of `at`
            bool pairs;       // ATTR_PAIRS: two entries an axis
            const char *word; // ATTR_PAIRS: "same" or "valid" (then n is 0), else NULL
        } sizes;
        struct {
            const int64_t *at;
            uint32_t n;
        } ints;
    };
} Attr;

enum { OP_ATTRS_MAX = 8, OP_OPERANDS_MAX = 8 };

typedef struct AttrSpec {
    const char *name;
    AttrKind kind;
    bool required;            // no default
    const char *default_text; // as the language writes it; NULL with required; "None" allowed
    const char *const *words; // ATTR_STRING, ATTR_PAIRS: the allowed words, NULL-terminated
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
    bool internal; // only in dumps (`adept 1 ir`), or written by a statement of its own
    bool later;    // known, but refused as not supported yet
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
const char *const *op_names(void); // NULL-terminated, all but internal ops: for suggestions
// Instructions that an element of a map costs, about, by the functions of its scalar definition.
unsigned op_cost(const OpInfo *op);
int op_attr_index(const OpInfo *op, const char *name); // -1 if unknown
int op_operand_index(const OpInfo *op, const char *name);
const OperandSpec *op_operand_spec(const OpInfo *op, uint32_t index); // of the index-th operand
uint32_t op_required_operands(const OpInfo *op);
// Which argument stands at a place of a call: an operand's index, or the number of operands and an
// attribute's. Required attributes stand before optional operands; else operands come first.
uint32_t op_argument(const OpInfo *op, uint32_t place);
bool op_is_view(const OpInfo *op); // a move of one operand, not decomposed: maybe an inline view

// What a rule could not decide: checked once per run, before any dispatch.
typedef struct OpCheck {
    Dim left, right;
    DimRelation relation;
    const char *message; // "%" marks the places of left and right (in this order), "%%" a percent
} OpCheck;

// One application of an op while its types are inferred. The rule reads operand types and
// attributes (which it may normalise, e.g. padding="same" to pairs), and sets result types.
typedef struct OpCall {
    const OpInfo *op;
    DimTable *dims;
    Arena *arena;
    Diags *diags; // NULL: no messages are wanted
    Span span;
    const Span *operand_span;        // per operand, or NULL
    const char *const *operand_name; // for messages; NULL, or entries may be NULL
    uint32_t operands;
    const Type *operand;     // absent optional operands have dtype DT_NONE
    const Type *declared;    // sources and states: the declared type
    Attr attr[OP_ATTRS_MAX]; // all of them, see op_attr_defaults
    uint32_t results;
    Type *result; // arena; split has one a size
    VEC(OpCheck) checks;
} OpCall;

bool op_infer(OpCall *call); // common checks, then the rule; false after a diagnostic

// The default of an attribute, parsed from the table; not present when it is None or required.
Attr op_attr_default(DimTable *dims, Arena *arena, const AttrSpec *spec);
void op_attr_defaults(DimTable *dims, Arena *arena, const OpInfo *op, Attr attr[OP_ATTRS_MAX]);
bool attr_equal(AttrKind kind, const Attr *a, const Attr *b);
uint64_t attr_hash(AttrKind kind, const Attr *attr, uint64_t seed);
Attr attr_copy(Arena *arena, AttrKind kind, const Attr *attr); // lists and words into the arena
void attr_print(const DimTable *dims, AttrKind kind, const Attr *attr, Text *out);

// Attribute values; lists are not copied.
Attr attr_none(void);
Attr attr_int(int64_t value);  // ATTR_INT, ATTR_BOOL, ATTR_SCALAR
Attr attr_float(double value); // ATTR_FLOAT, ATTR_SCALAR
Attr attr_dtype(DType dtype);
Attr attr_string(const char *word);
Attr attr_size(Dim size); // ATTR_SIZE, ATTR_SCALAR
Attr attr_sizes(const Dim *sizes, uint32_t count);
Attr attr_ints(const int64_t *values, uint32_t count);
Attr attr_pairs(const Dim *before_after, uint32_t axes);

// Reading: the entry of an axis, where one entry may stand for all axes.
int64_t attr_int_of(const Attr *ints, uint32_t axis);
void attr_pair_of(const Attr *pairs, uint32_t axis, Dim *before, Dim *after);
bool attr_ints_has(const Attr *ints, int64_t value);
