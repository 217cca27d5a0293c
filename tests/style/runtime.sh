#!/bin/sh
# What an embedder gets: the runtime built for release links against Vulkan, libc and libm alone,
# shows nothing but adept_*, and is small.
# usage: runtime.sh SOURCE_ROOT SCRATCH_FOLDER COMPILER [ARGUMENT]
set -eu
cd "$1"
scratch=$2
shift 2 # what is left is the compiler, behind a launcher or not
limit=204800

mkdir -p "$scratch"
library=$scratch/libadept-release.so
"$@" -std=gnu17 -D_GNU_SOURCE -DADEPT_VERSION='"test"' -DNDEBUG -O2 -fPIC -shared -I. \
    -ffunction-sections -fdata-sections -ffp-contract=off runtime/*.c -o "$library" \
    -Wl,--gc-sections -Wl,--as-needed -Wl,-z,defs -Wl,--version-script=runtime/libadept.map \
    -lvulkan -lm
strip "$library"

status=0
others=$(readelf -d "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
    grep -vE '^(libvulkan\.so\.1|libc\.so\.6|libm\.so\.6|ld-linux.*)$') || true
if [ -n "$others" ]; then
    echo "needs more than Vulkan, libc and libm: $others"
    status=1
fi
shown=$(nm -D --defined-only "$library" | awk '$3 !~ /^adept_/ { print $3 }')
if [ -n "$shown" ]; then
    echo "shows more than adept_*: $shown"
    status=1
fi
sh tests/style/size.sh "$library" "$limit" || status=1
exit $status
