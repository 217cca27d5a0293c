#include "runtime/adept_device.h"
#include "runtime/format.h"

#define SAME(name) _Static_assert((int)ADEPT_##name == (int)ADX_##name, #name);
SAME(F32)
SAME(F16)
SAME(BF16)
SAME(F8E4M3)
SAME(F8E5M2)
SAME(I32)
SAME(U32)
SAME(I8)
SAME(U8)
SAME(BOOL)
#undef SAME

static const struct {
    const char *name;
    uint8_t size;
} dtypes[] = {
    [ADEPT_F32] = {"f32", 4},       [ADEPT_F16] = {"f16", 2}, [ADEPT_BF16] = {"bf16", 2},
    [ADEPT_F8E4M3] = {"f8e4m3", 1}, [ADEPT_I32] = {"i32", 4}, [ADEPT_F8E5M2] = {"f8e5m2", 1},
    [ADEPT_U32] = {"u32", 4},       [ADEPT_I8] = {"i8", 1},   [ADEPT_U8] = {"u8", 1},
    [ADEPT_BOOL] = {"bool", 1},
};

static bool is_dtype(AdeptDType dtype) {
    return (unsigned)dtype < sizeof dtypes / sizeof *dtypes && dtypes[dtype].name;
}

const char *adept_dtype_name(AdeptDType dtype) {
    return is_dtype(dtype) ? dtypes[dtype].name : NULL;
}

size_t adept_dtype_size(AdeptDType dtype) {
    return is_dtype(dtype) ? dtypes[dtype].size : 0;
}

const char *adept_version(void) {
    return ADEPT_VERSION;
}
