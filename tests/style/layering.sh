#!/bin/sh
# The include graph has exactly the edges of docs/architecture.md: who may include whom.
# usage: layering.sh SOURCE_ROOT
set -eu
cd "$1"
folders=$(ls -d ir passes codegen runtime frontend tests examples 2>/dev/null) || true

find $folders -name '*.[chly]' -o -name '*.def' |
    LC_ALL=C sort | xargs awk '
BEGIN {
    allowed["ir"] = "ir/"
    allowed["passes"] = "passes/ ir/"
    allowed["codegen"] = "codegen/ ir/ runtime/format.h"
    allowed["runtime"] = "runtime/"
    allowed["frontend"] = allowed["tests"] = "ir/ passes/ codegen/ runtime/ frontend/ tests/"
    allowed["examples"] = "runtime/adept.h"
    outside["runtime"] = "vulkan/vulkan.h vulkan/vulkan_core.h"
}

# Does path begin with one of the words of list (or, without a slash at its end, equal it)?
function within(path, list,    words, count, i) {
    count = split(list, words, " ")
    for (i = 1; i <= count; i++)
        if (path == words[i] || (words[i] ~ /\/$/ && index(path, words[i]) == 1)) return 1
    return 0
}

function complain(text) { printf "%s:%d: %s\n", FILENAME, FNR, text; bad++ }

FNR == 1 { split(FILENAME, parts, "/"); folder = parts[1]; seen++ }

/^[ \t]*#[ \t]*include[ \t]*"/ {
    split($0, parts, "\"")
    path = parts[2]
    includes++
    if (path !~ /\//) complain("includes are written from the root: \"" path "\"")
    else if (!within(path, allowed[folder])) complain(folder "/ may not include \"" path "\"")
}

# The runtime knows Vulkan and the C library (whose headers have no folder but sys/).
/^[ \t]*#[ \t]*include[ \t]*</ {
    split($0, parts, /[<>]/)
    path = parts[2]
    if ((folder in outside) && path ~ /\// && path !~ /^sys\// && !within(path, outside[folder]))
        complain(folder "/ may not include <" path ">")
}

END {
    printf "%d files, %d includes of ours, %d wrong\n", seen, includes, bad
    exit bad > 0 || seen == 0
}'
