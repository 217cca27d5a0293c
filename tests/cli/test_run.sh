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
    expect 1 run $model --device $device --in x=$models/x.npy --out z="$scratch/z.npy"
    err_has "no such output"
done
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
finish
