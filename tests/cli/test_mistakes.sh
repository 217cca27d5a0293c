#!/bin/sh
# What is wrong with a model: all of it in one run, exit 1, and nothing written.
. tests/cli/lib.sh "$1" "$2"

# Three mistakes that have nothing to do with each other, one of them in the grammar.
expect 1 compile tests/golden/diag/three_mistakes.adp -o "$scratch/a.adx"
err_has "three_mistakes.adp:9:11: error: matmul: inner sizes differ: 256 and 640"
err_has "note: in block MLP at \"model.layers.{i}.mlp\""
err_has "three_mistakes.adp:22:5: error: unexpected 'k'"
err_has "unknown op, fn or block sofmax"
[ "$(grep -c 'error: ' "$scratch/err")" = 3 ] || fail "not three errors"
[ ! -e "$scratch/a.adx" ] || fail "a file is left behind"

# Files that are no models.
refused() { # message; the file is $scratch/bad.adp
    expect 1 compile "$scratch/bad.adp" -o "$scratch/bad.adx"
    err_has "$1"
    [ ! -e "$scratch/bad.adx" ] || fail "a file is left behind"
}
: >"$scratch/bad.adp"
refused "the first statement of a model file is"
head -c 700 examples/digits/lenet5.adp >"$scratch/bad.adp"
refused "error"
head -c 4096 "$adept" >"$scratch/bad.adp"
refused "error"
printf 'adept 1\n# \377\n' >"$scratch/bad.adp"
refused "not UTF-8"
{ printf 'adept 1\nmodel m { y = ' && head -c 3000 /dev/zero | tr '\0' '('; } >"$scratch/bad.adp"
refused "nested more than 64 deep"
{ printf 'adept 1\n#' && head -c 5000 /dev/zero | tr '\0' 'x'; } >"$scratch/bad.adp"
refused "the line is longer than 4096 bytes"
{ printf 'adept 1\n' && head -c 67108865 /dev/zero | tr '\0' '\n'; } >"$scratch/bad.adp"
refused "a model file has at most 67108864"
rm "$scratch/bad.adp"

# Not regular files.
expect 1 compile "$scratch" -o "$scratch/bad.adx"
err_has "not a regular file"
mkfifo "$scratch/fifo"
expect 1 compile "$scratch/fifo" -o "$scratch/bad.adx"
err_has "not a regular file"
finish
