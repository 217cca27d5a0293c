// Every allocation of host memory that the runtime makes, failed once: for the nth, n = 1, 2, ..
// there is no crash, and the result is that memory ran out, or right where the runtime can do
// without. That nothing leaks is the sanitizer's to say. The linker puts the functions below in the
// runtime's way (CMakeLists.txt).
#include "tests/support/runtime_use.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static atomic_uint calls, fail_at;
static atomic_bool counting;

static bool fails(void) {
    return atomic_load(&counting) && atomic_fetch_add(&calls, 1) + 1 == atomic_load(&fail_at);
}

#define WRAP(name, parameters, arguments)                                                          \
    void *__real_##name parameters;                                                                \
    void *__wrap_##name parameters;                                                                \
    void *__wrap_##name parameters {                                                               \
        return fails() ? NULL : __real_##name arguments;                                           \
    }
WRAP(malloc, (size_t size), (size))
WRAP(calloc, (size_t count, size_t size), (count, size))
WRAP(realloc, (void *memory, size_t size), (memory, size))
WRAP(strdup, (const char *text), (text))

static AdeptResult count(const RuntimeUse *use, unsigned n, AdeptError *error) {
    *error = (AdeptError){0};
    atomic_store(&calls, 0);
    atomic_store(&fail_at, n);
    atomic_store(&counting, true);
    AdeptResult result = runtime_use(use, vkGetInstanceProcAddr, error);
    atomic_store(&counting, false);
    return result;
}

static void every_allocation(void **state) {
    const RuntimeUse *use = *state;
    AdeptError error;
    // The second time with a warm pipeline cache, as all that follow.
    for (int i = 0; i < 2; i++)
        if (count(use, 0, &error)) fail_msg("%s", error.detail);
    unsigned total = atomic_load(&calls), without = 0;
    assert_true(total > 40);
    for (unsigned n = 1; n <= total; n++) {
        AdeptResult result = count(use, n, &error);
        if (result == ADEPT_OK) {
            without++;
            continue;
        }
        if (result != ADEPT_ERROR_MEMORY) fail_msg("%u: %d %s", n, result, error.detail);
        assert_int_equal(error.result, ADEPT_ERROR_MEMORY);
        assert_string_equal(error.detail, "out of host memory");
    }
    // The cache's path, file, header and data, the names of unused weights.
    assert_true(without > 0 && without <= 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_allocation)};
    return cmocka_run_group_tests(tests, runtime_use_set_up, runtime_use_tear_down);
}
