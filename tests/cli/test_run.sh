#!/bin/sh
# adept run: on a device, on the evaluator, and the two compared
. tests/cli/lib.sh "$1" "$2"
models=tests/cli/models
model=$models/elementwise.adp

expect 0 run $model --in x=$models/x.npy --check
out_has "device: "
out_has "y : [2, 3] f32 = 1 2.68269 0.682689"
out_has "check y: largest difference"
out_has "check s: largest difference"
expect 0 run $model --in x=$models/x.npy --device reference --out s="$scratch/reference.npy"
out_has "y : [2, 3] f32 = 1 2.68269 0.682689"
expect 0 run $model --in x=$models/x.npy --profile --repeat 3 --out s="$scratch/device.npy"
out_has "3 runs: least"
out_has "elementwise.adp:"
[ "$(wc -c <"$scratch/device.npy")" = "$(wc -c <"$scratch/reference.npy")" ] || fail "sizes differ"

# More moves on one another than one view takes.
expect 0 run $models/turns.adp --in x=$models/x.npy --check
out_has "y : [2, 3] f32 = -3 2 0.5 -1 1 0"

# A package on the evaluator, unless its graph was left out.
expect 0 compile $model -o "$scratch/a.adx"
expect 0 run "$scratch/a.adx" --in x=$models/x.npy --check
expect 0 run "$scratch/a.adx" --in x=$models/x.npy --device reference
expect 0 compile $model -o "$scratch/b.adx" --strip
expect 0 run "$scratch/b.adx" --in x=$models/x.npy
expect 1 run "$scratch/b.adx" --in x=$models/x.npy --check
err_has "stripped"

# What is wrong with the input: exit 1, on the device and on the evaluator.
for device in 0 reference; do
    expect 1 run $model --device $device
    err_has "input 'x' is missing"
    expect 1 run $model --device $device --in x=examples/digits/digits_labels.npy
    expect 1 run $model --device $device --in x=$models/x.npy --dim N=65
    err_has "dim N = 65 is outside 1..=64"
    expect 1 run $model --device $device --in x=$models/x.npy --dim M=3
    err_has "M"
    expect 1 run $model --device $device --in x=$models/x.npy --out y="$scratch/y.npy" \
        --out z="$scratch/z.npy"
    err_has "no such output"
    [ ! -e "$scratch/y.npy" ] || fail "an output is written beside a wrong one"
    expect 0 run $model --device $device --in x=$models/x.npy --dim N=2
    expect 1 run $model --device $device --in x=$models/x.npy --dim N=3
    err_has "N"
    expect 2 run $model --device $device --in x=$models/x.npy --dim N=2 --dim N=2
    err_has "N is given twice"
    expect 1 run $model --device $device --in x=$models/x.npy --in stranger=$models/x.npy
    err_has "stranger"
    expect 1 run examples/digits/lenet5.adp --device $device \
        --in image=examples/digits/digits_images.npy
    err_has "give --weights FILE"
    # A state goes from run to run: 1 + 3 x at the third.
    expect 0 run $models/state.adp --device $device --in x=$models/x.npy --repeat 3 --check \
        --out y="$scratch/state-$device.npy"
done
cmp "$scratch/state-0.npy" "$scratch/state-reference.npy" || fail "states differ"
expect 2 run "$scratch/a.adx" --in x=$models/x.npy --target h200
expect 2 run $model --in x=$models/x.npy --repeat 4294967297
# Asserts say what they found, with a message of the model's or without one.
cat >"$scratch/assert.adp" <<'END'
adept 1
model asserts {
    dim N in 1..=64
    dim P in 0..=9
    input x : [N, 3] f32
    assert P + N <= 10, "P {P} and N {N} are {100}% too large"
    assert P % 2 == 0
    output y = x
}
END
for device in 0 reference; do
    expect 1 run "$scratch/assert.adp" --device $device --in x=$models/x.npy --dim P=9
    err_has "P 9 and N 2 are 100% too large"
    expect 1 run "$scratch/assert.adp" --device $device --in x=$models/x.npy --dim P=1
    err_has "P % 2 == 0 does not hold"
done
# Weights that do not fit: each is named once, with what the file has.
cat >"$scratch/misfit.adp" <<'END'
adept 1
model misfit {
    param w : [6, 1, 5, 4] f32 from "/conv1.weight"
    output y = w + 1
}
END
for device in 0 reference; do
    expect 1 run "$scratch/misfit.adp" --device $device -w examples/digits/lenet5.safetensors
    err_has "the file has [6, 1, 5, 5]"
    [ "$(grep -c "the file has" "$scratch/err")" = 1 ] || fail "said more than once"
done
# A pipe without a writer is refused, not waited for.
mkfifo "$scratch/pipe"
expect 1 run "$scratch/pipe"
err_has "not a regular file"
expect 1 run $model --in x=$model
err_has "not a .npy file"
expect 1 run $model --in x
err_has "NAME=FILE is wanted"
expect 2 run
expect 3 run $model --in x=$models/x.npy --device no-such-device

# A truncated package is refused.
head -c 1000 "$scratch/a.adx" >"$scratch/short.adx"
expect 1 run "$scratch/short.adx" --in x=$models/x.npy

# Without a driver.
VK_DRIVER_FILES=/dev/null VK_ICD_FILENAMES=/dev/null expect 3 run $model --in x=$models/x.npy
err_has "mesa-vulkan-drivers"
VK_DRIVER_FILES=/dev/null VK_ICD_FILENAMES=/dev/null \
    expect 0 run $model --in x=$models/x.npy --device reference

# Outputs do not replace what is read; weights come from one place; what cannot be written is told.
cp $models/x.npy "$scratch/x.npy"
expect 2 run $model --in x="$scratch/x.npy" --device reference --out y="$scratch/x.npy"
err_has "an output would replace what the run reads"
cmp -s $models/x.npy "$scratch/x.npy" || fail "the input was replaced"
expect 2 run examples/digits/lenet5.adp -w examples/digits/lenet5.safetensors --random-weights 1
err_has "exclude each other"
expect 0 run $model --in x=$models/x.npy --device 0 --random-weights 1
if [ -e /dev/full ]; then
    for command in "bench map -s 3x4" "run $model --in x=$models/x.npy" "compile $model --emit=graph"; do
        code=0
        "$adept" $command >/dev/full 2>"$scratch/err" </dev/null || code=$?
        [ "$code" = 1 ] || fail "adept $command >/dev/full: exit $code, not 1"
    done
fi
finish
