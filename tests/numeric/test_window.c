// Convolutions and pooling on the device, against the evaluator.
#include "tests/support/numeric.h"

int main(void) {
    return numeric_run("window", numeric_windows);
}
