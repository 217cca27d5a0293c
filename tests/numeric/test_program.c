// State, repeats, weights and memory on the device, against the evaluator.
#include "tests/support/numeric.h"

int main(void) {
    return numeric_run("program", numeric_programs);
}
