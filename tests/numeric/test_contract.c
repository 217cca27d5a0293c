// Matrix products on the device, against the evaluator.
#include "tests/support/numeric.h"

int main(void) {
    return numeric_run("contract", numeric_contracts);
}
