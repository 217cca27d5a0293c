#!/bin/sh
# adept ops
. tests/cli/lib.sh "$1" "$2"

expect 0 ops
out_has "gelu(x, approximate=\"none\")"
out_has "    map, element. "
expect 0 ops relu softmax
out_has "relu(x)"
[ "$(grep -c '^[a-z]' "$scratch/out")" = 2 ] || fail "two ops asked for, others printed"
expect 1 ops sofmax
err_has "no op 'sofmax'; did you mean 'softmax'?"
# Rows of the documents' table have four columns.
expect 0 ops --markdown
awk -F' \\| ' '/^\| `/ && NF != 4 { bad = 1; print } END { exit bad }' "$scratch/out" ||
    fail "a row without four columns"
finish
