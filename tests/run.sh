#!/bin/sh
# The whole test suite: installs what is missing, builds into build/check (Debug, warnings are
# errors), runs ctest and exits with its status. Arguments go to ctest: sh tests/run.sh -L quick
# ADEPT_TEST_BUILD chooses another build folder, ADEPT_CMAKE adds options of cmake.
set -eu

cd "$(dirname "$0")/.."
build=${ADEPT_TEST_BUILD:-build/check}
jobs=$(nproc)

sh tests/install.sh test
cmake -S . -B "$build" -DCMAKE_BUILD_TYPE=Debug -DADEPT_WERROR=ON ${ADEPT_CMAKE:-}
cmake --build "$build" -j"$jobs"
cd "$build"
exec ctest -j"$jobs" --output-on-failure --no-tests=error "$@"
