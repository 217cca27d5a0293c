// Order, counting, scatter and composed moves on the device, against the evaluator.
#include "tests/support/numeric.h"

int main(void) {
    return numeric_run("indices", numeric_indices);
}
