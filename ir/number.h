// Numbers as memory holds them: conversion between f64 and each element type, with the roundings
// and saturations of the language's cast (language.md section 8). Integers travel as exact doubles.
#pragma once

#include "ir/type.h"

// Nearest value of the element type, as `cast` defines it: floats round to nearest even, f32, f16
// and bf16 overflow to infinity, f8 saturates; floats to integers truncate, saturate, NaN gives 0;
// bool is x != 0. The result is exact in f64.
double number_cast(DType dtype, double value);
// Integer to integer keeps the low bits.
double number_wrap(DType dtype, int64_t value);

// One element's bytes (dtype_bytes of them, little-endian); store casts first.
double number_load(DType dtype, const void *bytes);
void number_store(DType dtype, double value, void *bytes);
