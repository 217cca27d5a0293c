#include "frontend/targets.h"

#include <stdio.h>
#include <string.h>

#include "frontend/file.h"
#include "runtime/device.h"
#include "runtime/format.h"

enum { PROFILE_BYTES_MAX = 1 << 16 };

bool target_load(const char *text, Diags *diags, Target *out, Text *error) {
    if (target_builtin(text, out)) return true;
    Text profile = {0};
    const char *near = nearest_name(text, target_builtin_names());
    if (!file_read_text(text, PROFILE_BYTES_MAX, &profile, error)) {
        text_put(error, near ? "; did you mean the target '" : "; the built-in targets are ");
        if (near) text_printf(error, "%s'?", near);
        for (const char *const *name = target_builtin_names(); !near && *name; name++)
            text_printf(error, name[1] ? "%s, " : "%s", *name);
        text_free(&profile);
        return false;
    }
    FileId file = diags_add_file(diags, text, profile.data, profile.len);
    bool good = target_parse(profile.data ? profile.data : "", profile.len, file, diags, out);
    text_free(&profile);
    return good;
}

// The two feature lists name the same bits (codegen asserts it), the two dtype lists the same
// names.
static DType dtype_of_code(uint8_t code) {
    const char *name = adept_dtype_name((AdeptDType)code);
    DType dtype = DT_NONE;
    return name && dtype_from_name(name, &dtype) ? dtype : DT_NONE;
}

// A name that the profile's text can hold.
static void copy_name(char *out, size_t space, const char *name) {
    size_t length = 0;
    for (; *name && length + 1 < space; name++)
        out[length++] = (unsigned char)*name < ' ' || *name == '#' ? '_' : *name;
    out[length] = '\0';
}

// What was measured on devices of this name.
static void copy_rates(Target *out) {
    Target known;
    for (const char *const *name = target_builtin_names(); *name; name++) {
        if (!target_builtin(*name, &known) || !known.device[0] || !strstr(out->name, known.device))
            continue;
        out->memory_rate = known.memory_rate, out->transpose_rate = known.transpose_rate;
        out->dispatch_time = known.dispatch_time, out->products = known.products;
        memcpy(out->product, known.product, sizeof out->product);
    }
}

void target_of_device(const AdeptDevice *device, Target *out) {
    const DeviceCaps *caps = &device->caps;
    *out = (Target){
        .subgroup_min = caps->subgroup_min,
        .subgroup_max = caps->subgroup_max,
        .subgroup_size = caps->subgroup_size,
        .shared_bytes = caps->shared_bytes,
        .max_invocations = caps->max_invocations,
        .max_local_x = caps->max_local,
        .max_grid = {caps->max_grid[0], caps->max_grid[1], caps->max_grid[2]},
        .compute_units = caps->compute_units,
        .features = caps->features,
    };
    copy_name(out->name, sizeof out->name, adept_device_info(device)->name);
    for (uint32_t i = 0; i < caps->fragment_count && out->fragments < TARGET_FRAGMENTS_MAX; i++) {
        const DeviceFragment *from = &caps->fragments[i];
        FragmentShape shape = {from->m, from->n, from->k, dtype_of_code(from->ab),
                               dtype_of_code(from->acc)};
        if (shape.ab != DT_NONE && shape.acc != DT_NONE) out->fragment[out->fragments++] = shape;
    }
    copy_rates(out);
}
