#include "ir/target_profiles.h"

#include <stddef.h>

#define EVERYWHERE "max_grid = 65535 65535 65535\n"

const char *const target_profile_names[] = {"portable", "lavapipe-debian12", "lavapipe-debian13",
                                            "h200", NULL};

const char *const target_profile_texts[] = {
    "adept 1 target\n"
    "name = portable\n"
    "subgroup_min = 1\n"
    "subgroup_max = 128\n"
    "subgroup_size = 0\n"
    "shared_bytes = 32768\n"
    "max_invocations = 256\n"
    "max_local_x = 256\n" EVERYWHERE "features =\n",
    // Mesa 22.3 on the CPU, 256-bit vectors.
    "adept 1 target\n"
    "name = lavapipe-debian12\n"
    "subgroup_min = 8\n"
    "subgroup_max = 8\n"
    "subgroup_size = 8\n"
    "shared_bytes = 32768\n"
    "max_invocations = 1024\n"
    "max_local_x = 1024\n" EVERYWHERE
    "features = storage16 storage8 float16 int8 int16 subgroup_arithmetic subgroup_shuffle"
    " subgroup_size_control signed_zero_inf_nan32 rounding_rte16 rounding_rte32 spirv16\n",
    // Mesa 26.1 on the CPU, 256-bit vectors.
    "adept 1 target\n"
    "name = lavapipe-debian13\n"
    "subgroup_min = 8\n"
    "subgroup_max = 8\n"
    "subgroup_size = 8\n"
    "shared_bytes = 32768\n"
    "max_invocations = 1024\n"
    "max_local_x = 1024\n" EVERYWHERE
    "features = storage16 storage8 float16 int8 int16 subgroup_arithmetic subgroup_shuffle"
    " subgroup_size_control cooperative_matrix memory_model signed_zero_inf_nan32 rounding_rte16"
    " rounding_rte32 spirv16 fragment_columns\n"
    "fragment = 8x8x8 f16 f16\n"
    "fragment = 8x8x8 f16 f32\n"
    "fragment = 8x8x8 i8 i32\n"
    "fragment = 8x8x8 u8 i32\n",
    "adept 1 target\n"
    "name = h200\n"
    "subgroup_min = 32\n"
    "subgroup_max = 32\n"
    "subgroup_size = 32\n"
    "shared_bytes = 49152\n"
    "max_invocations = 1024\n"
    "max_local_x = 1024\n"
    "max_grid = 2147483647 65535 65535\n"
    "compute_units = 132\n"
    "features = storage16 storage8 float16 int8 int16 subgroup_arithmetic subgroup_shuffle"
    " subgroup_size_control cooperative_matrix bfloat16 memory_model denorm_preserve16"
    " rounding_rte16 signed_zero_inf_nan32 rounding_rte32 spirv16 fragment_quads\n"
    "fragment = 16x16x16 f16 f32\n"
    "fragment = 16x8x16 f16 f32\n"
    "fragment = 16x8x8 f16 f32\n"
    "fragment = 16x16x16 f16 f16\n"
    "fragment = 16x8x16 f16 f16\n"
    "fragment = 16x8x8 f16 f16\n"
    "fragment = 16x16x16 bf16 f32\n"
    "fragment = 16x16x32 i8 i32\n"
    "fragment = 16x8x32 i8 i32\n"
    "fragment = 16x16x32 u8 i32\n"
    "fragment = 16x8x32 u8 i32\n"
    "memory_rate = 3900\n"
    "transpose_rate = 2500\n"
    "dispatch_time = 1600\n"
    "product = f16 307 264\n"
    "product = bf16 317 270\n"
    "product = i8 305 509\n"
    "product = u8 305 509\n"
    "product = f32 48 45\n"
    "device = NVIDIA H200\n",
};
