// Element-wise ops on the device, against the evaluator.
#include "tests/support/numeric.h"

int main(void) {
    return numeric_run("map", numeric_maps);
}
