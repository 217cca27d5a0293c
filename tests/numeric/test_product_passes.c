// Products with what passes do around them, on the device, against the evaluator.
#include "tests/support/numeric.h"

int main(void) {
    return numeric_run("product_passes", numeric_products);
}
