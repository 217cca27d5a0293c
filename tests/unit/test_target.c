// Profiles: the built-in ones parse, print and parse back; mistakes are named.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "ir/target.h"

static void builtin_round_trip(void **state) {
    (void)state;
    const char *const *names = target_builtin_names();
    assert_string_equal(names[0], "portable");
    unsigned count = 0;
    for (; *names; names++, count++) {
        Target first, second;
        assert_true(target_builtin(*names, &first));
        assert_string_equal(first.name, *names);
        Text text = {0}, again = {0};
        target_print(&first, &text);
        Diags *diags = diags_create();
        assert_true(target_parse(text.data, text.len, 0, diags, &second));
        target_print(&second, &again);
        assert_string_equal(text.data, again.data);
        diags_destroy(diags);
        text_free(&text), text_free(&again);
    }
    assert_int_equal(count, 4);
    Target none;
    assert_false(target_builtin("nothing", &none));
}

static void h200_limits(void **state) {
    (void)state;
    Target target;
    assert_true(target_builtin("h200", &target));
    assert_int_equal(target.subgroup_size, 32);
    assert_int_equal(target.shared_bytes, 48 * 1024);
    assert_int_equal(target.max_invocations, 1024);
    assert_true(target.features & TF_COOPERATIVE_MATRIX);
    assert_int_equal(target.fragments, 11);
    assert_int_equal(target.fragment[7].k, 32);
    assert_int_equal(target.fragment[7].ab, DT_I8);
    assert_non_null(target_product(&target, DT_F16));
    assert_true(target_product(&target, DT_F16)->along_n >
                target_product(&target, DT_F16)->along_k);
    assert_true(target_product(&target, DT_I8)->along_n < target_product(&target, DT_I8)->along_k);
    assert_true(target_builtin("portable", &target));
    assert_int_equal(target.features, 0);
    assert_int_equal(target.subgroup_size, 0);
    assert_null(target_product(&target, DT_F16));
}

static void mistakes(void **state) {
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"adept 1 ir\n", "first line"},
        {"adept 1 target\nnonsense\n", "key = value"},
        {"adept 1 target\ncolour = red\n", "unknown key `colour`"},
        {"adept 1 target\nsubgroup_min = 4x\n", "cannot be `4x`"},
        {"adept 1 target\nsubgroup_min = 4\nsubgroup_min = 4\n", "given twice"},
        {"adept 1 target\nfeatures = wings\n", "unknown feature `wings`"},
        {"adept 1 target\nfragment = 16x16 f16 f32\n", "cannot be"},
        {"adept 1 target\nproduct = f16 302\n", "cannot be `f16 302`"},
        {"adept 1 target\nproduct = f16 3 2\nproduct = f16 3 2\n", "f16 are given twice"},
        {"adept 1 target\nname = x\n", "has no `subgroup_min`"},
        {"adept 1 target\nname = x\nsubgroup_min = 8\nsubgroup_max = 4\nsubgroup_size = 8\n"
         "shared_bytes = 1\nmax_invocations = 1\nmax_local_x = 1\nmax_grid = 1 1 1\n",
         "contradict"},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        Diags *diags = diags_create();
        Target target;
        assert_false(target_parse(cases[i].text, strlen(cases[i].text), 0, diags, &target));
        Text text = {0};
        diags_render(diags, &text);
        if (!strstr(text.data, cases[i].message))
            fail_msg("%s: expected %s", text.data, cases[i].message);
        text_free(&text);
        diags_destroy(diags);
    }
}

static void feature_names(void **state) {
    (void)state;
    TargetFeatures bit;
    assert_true(target_feature_from_name("subgroup_shuffle", &bit));
    assert_int_equal(bit, TF_SUBGROUP_SHUFFLE);
    assert_string_equal(target_feature_name(7), "cooperative_matrix");
    assert_false(target_feature_from_name("", &bit));
    assert_null(target_feature_name(63));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(builtin_round_trip),
        cmocka_unit_test(h200_limits),
        cmocka_unit_test(mistakes),
        cmocka_unit_test(feature_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
