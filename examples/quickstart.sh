#!/bin/sh
# From nothing to digits read by a Vulkan device: installs what is missing, builds Adept into
# build/, compiles examples/digits/lenet5.adp and runs it over the 360 images.
# ADEPT_BUILD chooses another build folder, ADEPT_DEVICE another device.
set -eu

cd "$(dirname "$0")/.."
build=${ADEPT_BUILD:-build}
digits=examples/digits

sh tests/install.sh build
cmake -S . -B "$build" -DCMAKE_BUILD_TYPE=Release -DADEPT_TESTS=OFF -DADEPT_WERROR=OFF
cmake --build "$build" -j"$(nproc)"

"$build/adept" compile "$digits/lenet5.adp" -o "$build/lenet5.adx"
"$build/examples/digits" "$build/lenet5.adx" "$digits/lenet5.safetensors" \
    "$digits/digits_images.npy" "$digits/digits_labels.npy"
