// Attention on the device, against the evaluator.
#include "tests/support/numeric.h"

int main(void) {
    return numeric_run("attention", numeric_attention);
}
