// Reductions and norms on the device, against the evaluator.
#include "tests/support/numeric.h"

int main(void) {
    return numeric_run("row", numeric_rows);
}
