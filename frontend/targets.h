// Where a target profile comes from: a built-in name, a file, or a device that is here.
#pragma once

#include "ir/target.h"
#include "runtime/adept.h"

// `text` is a built-in name or else a file. False: one line in `error`, or diagnostics in `diags`
// for a file whose text is wrong.
bool target_load(const char *text, Diags *diags, Target *out, Text *error);

// What the device offers, under its own name.
void target_of_device(const AdeptDevice *device, Target *out);
