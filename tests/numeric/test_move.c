// Moves, joins, gathers and sources on the device, against the evaluator.
#include "tests/support/numeric.h"

int main(void) {
    return numeric_run("move", numeric_moves);
}
