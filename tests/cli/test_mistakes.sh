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

# A bound is in its axis; hosts tell tensors apart by name.
model() { printf 'adept 1\nmodel m {\n%s\n}\n' "$1" >"$scratch/bad.adp"; }
for index in -5 -8 -5:4 :-5 -6:-5; do
    model "input x : [4] f32
output y = x[$index]"
    refused "is before the start of an axis of size 4"
done
model 'input x : [4] f32 from "a"
input z : [4] f32 from "a"
output y = x - z'
refused 'there is an input named "a" for the host already'
model 'input x : [4] f32
output y = -x from "b"
output b = abs(x)'
refused 'there is an output named "b" for the host already'

# What readers of packages would refuse is not written.
model 'input x : [4] f32
y1 = x
repeat i in 0..1001 {
repeat j in 0..1001 {
y1 = y1 + 1
}
}
output y = y1'
refused "more than 1000000 dispatches"

# Nothing is written over what is read, nor without a name.
cp tests/cli/models/elementwise.adp "$scratch/00-source.adp"
expect 1 compile "$scratch/00-source.adp" -o "$scratch/a.adx" --dump-dir "$scratch"
err_has "the dump would replace the input"
cmp -s tests/cli/models/elementwise.adp "$scratch/00-source.adp" || fail "the input was replaced"
expect 0 devices --dump-profile
cp "$scratch/out" "$scratch/p.target"
expect 2 compile tests/cli/models/elementwise.adp --target "$scratch/p.target" -o "$scratch/p.target"
err_has "would replace"
expect 2 compile tests/cli/models/elementwise.adp -o ""
err_has "the value is empty"
expect 2 compile tests/cli/models/elementwise.adp -o "$scratch/a.adx" --dump-dir=
err_has "the value is empty"

# A profile that knows no subgroup size; a product that is wide, flat and short.
sed 's/^subgroup_size = .*/subgroup_size = 0/' "$scratch/p.target" >"$scratch/z.target"
expect 0 compile examples/digits/lenet5.adp --target "$scratch/z.target" -o "$scratch/a.adx"
model 'input x : [2, 6] f32
input y : [6, 2048] f32
output o = x @ y'
expect 0 compile "$scratch/bad.adp" -o "$scratch/a.adx"
finish
