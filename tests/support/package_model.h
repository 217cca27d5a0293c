// A small model made by hand that uses all that the runtime has:
//
//     input x : [N] f32          N in 0..=10000, read from x
//     output y : [N] f32 = 2 * w[0] * x + b[0] + b[1] + b[2] + s[P]
//     output z : [100] f32       z[0..P) = P, the rest 0; P in 0..=99, set by the host
//     state s : [100] f32 = 0.5  s[P] = s[P] + 1 after y
//     param w : [4] f32          doubled by a prepare unit; key "w"
//     param b : [4] f32          read into place; key "b"
//     const c : [1] f32 = 0.25   not used by y
//     assert N != 13, "unlucky {N}, 100%"
//
// The b are added by a repeat of three trips; x of one element takes an alternative of its own.
#pragma once

#include "tests/support/package_make.h"

typedef struct PackageModelOptions {
    bool overrun;   // the kernel that writes y writes four elements too many
    bool unwritten; // it reads a place of the arena that nothing writes
} PackageModelOptions;

void package_model(PackageMake *make, const PackageModelOptions *options);
// A safetensors file with w = {1.5, 0, 0, 0} and b = {1, 2, 3, 4}, as bytes to be written.
extern const char package_model_weights[];
extern const size_t package_model_weights_size;
