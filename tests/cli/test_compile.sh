#!/bin/sh
# adept compile, opt and inspect
. tests/cli/lib.sh "$1" "$2"
model=tests/cli/models/elementwise.adp

# Two compilations give the same bytes, from another folder too.
expect 0 compile $model -o "$scratch/a.adx" --validate
expect 0 compile $model -o "$scratch/b.adx"
cmp "$scratch/a.adx" "$scratch/b.adx" || fail "two compilations differ"
(cd tests/cli && "$adept" compile models/elementwise.adp -o "$scratch/c.adx") || fail "other folder"
cmp "$scratch/a.adx" "$scratch/c.adx" || fail "compilations in two folders differ"
expect 0 compile $model -o "$scratch/d.adx" --strip
[ "$(wc -c <"$scratch/d.adx")" -lt "$(wc -c <"$scratch/a.adx")" ] || fail "--strip saves nothing"

expect 0 inspect "$scratch/a.adx"
out_has "model elementwise from elementwise.adp, for portable"
out_has "dim N in 1..=64, axis 0 of x"
out_has "input x : [N, 3] f32"
out_has "run: 1 dispatches, 0 barriers"
expect 0 inspect "$scratch/a.adx" --args
out_has "r input 0 at 0, N * 12 bytes"
expect 0 inspect "$scratch/a.adx" --graph
cp "$scratch/out" "$scratch/graph"
expect 1 inspect "$scratch/d.adx" --graph
err_has "stripped of its graph"
expect 1 inspect $model

# A dump goes on where it stopped, and comes out the same.
expect 0 compile $model --emit=graph
cp "$scratch/out" "$scratch/fused"
expect 0 opt "$scratch/fused"
cmp "$scratch/fused" "$scratch/out" || fail "opt changes a finished graph"
"$adept" compile $model --emit=graph | "$adept" opt - --emit=graph | cmp - "$scratch/fused" ||
    fail "a pipe of dumps differs"
expect 0 opt "$scratch/graph"
cmp "$scratch/fused" "$scratch/out" || fail "the package's graph gives another result"

# -D replaces a const of the file.
expect 0 compile $model --emit=graph -D scale=4
out_has "4.0"
expect 1 compile $model --emit=graph -D nothing=4
err_has "nothing"
expect 1 compile $model --emit=graph -D scale
err_has "NAME=VALUE is wanted"

# Passes: stop, print, time, dump.
expect 0 compile $model --emit=graph --stop-after=simplify --time-passes
out_has "gelu("
err_has "ms  simplify"
expect 0 compile $model -o "$scratch/e.adx" --print-ir-after=fuse --dump-dir "$scratch/dumps"
err_has "# after fuse"
ls "$scratch/dumps" | grep -q '^00-source' || fail "no dump of the source"
expect 1 compile $model -o "$scratch/f.adx" --stop-after=simplify
[ ! -e "$scratch/f.adx" ] || fail "an error leaves a file"
expect 1 compile $model --disable-pass=simplfy
err_has "simplify"

# Kinds of output.
expect 0 compile $model --emit=spirv-asm -g
out_has "OpEntryPoint GLCompute"
expect 0 compile $model --emit=spirv -o "$scratch/spirv" --dim N=2
for file in "$scratch"/spirv/*.spv; do
    spirv-val --target-env vulkan1.2 "$file" || fail "$file is not valid"
done
expect 2 compile $model --emit=spirv
err_has "wants -o FOLDER"
expect 1 compile $model --emit=spirv -o "$scratch/spirv2"
err_has "--dim N=SIZE"
expect 1 compile $model --emit=spirv -o "$scratch/spirv2" --dim N=65
err_has "N = 65"
expect 2 compile $model --emit=sprv
err_has "did you mean '--emit=spirv'?"
# A dump by hand that no graph can be is refused before the passes see it.
cat >"$scratch/nested.ir" <<'END'
adept 1 ir
model m {
    input x : [2] f32
    fused k0(family="map") -> y {
        fused k1(family="map") -> y {
            y : [2] f32 = relu(x)
        }
    }
    output o : [2] f32 = y
}
END
expect 1 opt "$scratch/nested.ir"
err_has "k1: stands in another fused"
# A schedule by hand is refused where it cannot be right.
expect 0 compile examples/digits/lenet5.adp --emit=plan -o "$scratch/own.plan"
sed 's/ when N <= 1//' "$scratch/own.plan" >"$scratch/unguarded.plan"
expect 1 opt "$scratch/unguarded.plan" --emit=kernels
err_has "form=skinny makes at most tile_m rows"
sed 's/form=simt/form=other/' "$scratch/own.plan" >"$scratch/form.plan"
expect 1 opt "$scratch/form.plan" --emit=kernels
err_has "no form other"
# f32 products in two ways: the plan says which was asked for and what was done, and reads back.
cat >"$scratch/product.adp" <<'END'
adept 1
model product {
    input x : [1024, 2048] f32
    input y : [2048, 1024] f32
    output z : [1024, 1024] f32 = relu(x @ y)
}
END
expect 0 compile "$scratch/product.adp" --target h200 --emit=plan
out_has "form=simt"
! grep -q "math fast" "$scratch/out" || fail "strict is the default"
expect 0 compile "$scratch/product.adp" --target h200 --math=fast --emit=plan
out_has "    math fast"
out_has "form=planes"
out_has "math fast: f32 as two planes of f16"
out_has "math fast: made in f32"
cp "$scratch/out" "$scratch/fast.plan"
expect 0 opt "$scratch/fast.plan" --emit=plan
cmp "$scratch/fast.plan" "$scratch/out" || fail "a fast plan reads back to another one"
expect 0 opt "$scratch/fast.plan" --emit=package -o "$scratch/fast.adx"
expect 0 inspect "$scratch/fast.adx"
out_has "planes_x"
# Without workspace for the planes they are made as the operands are read.
expect 0 compile "$scratch/product.adp" --target h200 --math=fast --max-workspace 1000000 --emit=plan
out_has "form=halves"
out_has "made as it is read"
! grep -q "form=planes" "$scratch/out" || fail "planes need more workspace"
expect 1 compile "$scratch/product.adp" --math=quick
err_has "strict or fast is wanted"
# Thousands of ops take seconds, not minutes, though all are alive at once.
awk 'BEGIN { print "adept 1\nmodel wide {\n    input x : [4, 16] f32\n    s = x"
    for (i = 0; i < 3000; i++) print "    a" i " = x + " i ".5"
    for (i = 0; i < 3000; i++) print "    s = s + sum(a" i ")"
    print "    output y = s\n}" }' >"$scratch/wide.adp"
timeout 60 "$adept" compile "$scratch/wide.adp" -o "$scratch/wide.adx" || fail "a wide graph: $?"
# A decoder whose cache grows by a dim that the host sets: the package of a GPU can be opened.
expect 0 compile examples/qwen2/qwen2.adp -D layers=2 --target h200 -o "$scratch/decoder.adx"
expect 0 inspect "$scratch/decoder.adx"
expect 2 compile
expect 2 compile a b
expect 2 compile $model --dim N=2 -o "$scratch/g.adx"
err_has "--dim goes with --emit=spirv"
expect 2 compile $model --emit=spirv -o "$scratch/spirv2" --dim N=2 --dim N=3
cp $model "$scratch/own.adp"
expect 2 compile "$scratch/own.adp" -o "$scratch/own.adp"
cmp $model "$scratch/own.adp" || fail "the input is gone"
expect 1 compile no/such/file.adp
err_has "no/such/file.adp"
expect 1 compile $model --target=portabel
err_has "did you mean the target 'portable'?"
finish
