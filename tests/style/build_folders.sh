#!/bin/sh
# No build folder lies where another build has its subfolders: a preset's in build/, and that of
# tests/run.sh in build/tests/, would write over each other.
# usage: build_folders.sh SOURCE_ROOT
set -eu
cd "$1"
bad=0
count=0
presets=$(sed -n 's|.*"binaryDir": "${sourceDir}/\([^"]*\)".*|\1|p' CMakePresets.json)
suite=$(sed -n 's|^build=${ADEPT_TEST_BUILD:-\(.*\)}$|\1|p' tests/run.sh)
for folder in $presets "${suite:?tests/run.sh names no build folder}"; do
    count=$((count + 1))
    if [ "$folder" != build ] && [ -e "./${folder#build/}/CMakeLists.txt" ]; then
        echo "$folder: a build in build/ puts its ${folder#build/} there"
        bad=$((bad + 1))
    fi
done
echo "$count build folders, $bad inside of others'"
[ "$count" -ge 2 ] && [ "$bad" -eq 0 ]
