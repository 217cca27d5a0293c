#!/bin/sh
# A program or library is at most so many bytes long once stripped.
# usage: size.sh FILE LIMIT
set -eu

copy=$(mktemp)
trap 'rm -f "$copy"' EXIT
strip -o "$copy" "$1"
size=$(wc -c <"$copy")
echo "$1: $size of at most $2 bytes"
[ "$size" -le "$2" ]
