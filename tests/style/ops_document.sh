#!/bin/sh
# docs/ops.md is what `adept ops --markdown` prints; ADEPT_BLESS=1 rewrites it.
# usage: ops_document.sh SOURCE_ROOT ADEPT
set -eu
cd "$1"

if [ "${ADEPT_BLESS:-}" = 1 ]; then
    "$2" ops --markdown >docs/ops.md
else
    "$2" ops --markdown | diff -u docs/ops.md - || {
        echo "docs/ops.md is old: ADEPT_BLESS=1 and this test again rewrite it"
        exit 1
    }
fi
