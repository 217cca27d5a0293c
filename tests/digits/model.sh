#!/bin/sh
# LeNet-5 on the digits: dispatches, logits, batch sizes, and its kernels without Adept's runtime.
# usage: model.sh ADEPT SCRATCH RUN_SPIRV
. tests/cli/lib.sh "$1" "$2"
run_spirv=$3
digits=examples/digits
weights=$digits/lenet5.safetensors

expect 0 compile $digits/lenet5.adp -o "$scratch/lenet5.adx" --validate
expect 0 inspect "$scratch/lenet5.adx"
dispatches=$(sed -n 's/^run: \([0-9]*\) dispatches.*/\1/p' "$scratch/out")
[ "$dispatches" -le 6 ] || fail "$dispatches dispatches"
! grep -i copy "$scratch/out" || fail "a copy kernel"

# Other batch sizes from the same package: the first images, compared with the evaluator.
# first_images N: digits_images.npy cut after N images.
first_images() {
    header="{'descr': '<f4', 'fortran_order': False, 'shape': ($1, 1, 28, 28), }"
    {
        printf '\223NUMPY\001\000\166\000'
        printf '%-117s\n' "$header"
        tail -c +129 $digits/digits_images.npy | head -c $(($1 * 28 * 28 * 4))
    } >"$scratch/images$1.npy"
}
for count in 1 7 256; do
    first_images $count
    expect 0 run "$scratch/lenet5.adx" --weights $weights --in image="$scratch/images$count.npy" \
        --check
    out_has "check logits: largest difference"
done

# Other rows of an invocation in the plan give other grids and the same labels.
expect 0 compile $digits/lenet5.adp --emit=plan -o "$scratch/plan.adp"
grep -q 'step k0' "$scratch/plan.adp" || fail "no step k0 in the plan"
awk '/step k0/ { inside = 1 } /}/ { inside = 0 }
    inside { sub(/reg_m=[0-9]+/, "reg_m=1") }
    { print }' "$scratch/plan.adp" >"$scratch/edited.adp"
! cmp -s "$scratch/plan.adp" "$scratch/edited.adp" || fail "nothing was edited"
expect 0 opt "$scratch/edited.adp" --emit=package -o "$scratch/edited.adx"
for name in lenet5 edited; do
    expect 0 inspect "$scratch/$name.adx"
    grep -A 9 '^step k0' "$scratch/out" | grep grid >"$scratch/$name.grid"
    expect 0 run "$scratch/$name.adx" --weights $weights --in image=$digits/digits_images.npy \
        --out label="$scratch/$name.npy"
done
! cmp -s "$scratch/lenet5.grid" "$scratch/edited.grid" || fail "the grid is the same"
cmp "$scratch/lenet5.npy" "$scratch/edited.npy" || fail "another tile gives other labels"

# The emitted kernels and their manifest are enough for any Vulkan program.
expect 0 compile $digits/lenet5.adp --emit=spirv --dim N=360 -o "$scratch/spirv"
for file in "$scratch"/spirv/*.spv; do
    spirv-val --target-env vulkan1.2 "$file" || fail "$file is not valid"
done
"$run_spirv" "$scratch/spirv" $weights image=$digits/digits_images.npy \
    logits==$digits/digits_logits.npy || fail "run_spirv"
finish
