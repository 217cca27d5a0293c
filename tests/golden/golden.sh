#!/bin/sh
# One golden: a text file that says how to run adept on it and what comes out.
#
#     # RUN: compile %s --emit=graph         arguments; %s is the file's name, %t a scratch folder
#     # EXIT: 1                              when not 0
#     ...the file itself...
#     #| first line of what adept prints     standard output and errors, in this order
#     #| second line
#
# The expectation is the last thing in the file, so that it changes no line number. Several RUN
# lines run in turn, each with its output. ADEPT_BLESS=1 rewrites the expectation: first see that
# the numbers are right, then freeze the text.
# usage: golden.sh ADEPT FILE SCRATCH
set -euf
adept=$1
file=$2
scratch=$3

rm -rf "$scratch"
mkdir -p "$scratch"
wanted_code=$(sed -n 's/^# EXIT: *//p' "$file")
cd "$(dirname "$file")"
name=$(basename "$file")

sed -n 's/^# RUN: *//p' "$name" >"$scratch/commands"
[ -s "$scratch/commands" ] || { echo "$file: no RUN line"; exit 1; }
code=0
while read -r command; do
    command=$(echo "$command" | sed "s|%s|$name|g; s|%t|$scratch|g")
    # The words of a RUN line are split at spaces; it needs no quoting.
    "$adept" $command >"$scratch/out" 2>"$scratch/err" </dev/null || code=$?
    cat "$scratch/out" "$scratch/err" >>"$scratch/both"
done <"$scratch/commands"
sed "s|$scratch|%t|g; s/^/#| /; s/ *$//" "$scratch/both" >"$scratch/got"

if [ "$code" != "${wanted_code:-0}" ]; then
    echo "$file: exit $code, not ${wanted_code:-0}"
    cat "$scratch/both"
    exit 1
fi
grep '^#|' "$name" >"$scratch/wanted" || true
if [ "${ADEPT_BLESS:-}" = 1 ]; then
    grep -v '^#|' "$name" | cat - "$scratch/got" >"$scratch/blessed"
    cp "$scratch/blessed" "$name"
elif ! diff -u "$scratch/wanted" "$scratch/got"; then
    echo "$file: not what was frozen (ADEPT_BLESS=1 rewrites it)"
    exit 1
fi
