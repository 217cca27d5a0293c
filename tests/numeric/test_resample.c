// Transposed convolution, interpolation and quantisation on the device, against the evaluator.
#include "tests/support/numeric.h"

int main(void) {
    return numeric_run("resample", numeric_resample);
}
