#!/bin/sh
# Every header compiles alone, and says #pragma once.
# usage: headers.sh SOURCE_ROOT GENERATED_ROOT COMPILER [ARGUMENT]
set -eu
cd "$1"
folders=$(ls -d ir passes codegen runtime frontend tests examples 2>/dev/null) || true
generated=$2
shift 2 # what is left is the compiler, behind a launcher or not

count=0
bad=0
for header in $(find $folders -name '*.h' | LC_ALL=C sort); do
    count=$((count + 1))
    if ! grep -q '^#pragma once' "$header"; then
        echo "$header: no #pragma once"
        bad=$((bad + 1))
    fi
    if ! printf '#include "%s"\n#include "%s"\n' "$header" "$header" |
        "$@" -std=gnu17 -D_GNU_SOURCE -Wall -Wextra -Werror -Wno-unused -fsyntax-only \
            -I. -I"$generated" -x c -; then
        echo "$header: does not compile alone"
        bad=$((bad + 1))
    fi
done
echo "$count headers, $bad wrong"
[ "$bad" = 0 ]
