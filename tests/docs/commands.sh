#!/bin/bash
# Runs the fenced blocks of one document in order. docs/testing.md, "The documents", says what the
# words behind the fence mean.
#
# The scratch folder looks like the root of the sources: links to everything that git would show,
# and to the build as build/ unless BUILD is "none" (the document then makes it). The examples are
# copied, so that nothing is written into the sources.
# usage: commands.sh SOURCE_ROOT BUILD DOCUMENT SCRATCH
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$1
build=$2
document=$3
scratch=$4

rm -rf "$scratch"
mkdir -p "$scratch/root" "$scratch/blocks"
for entry in "$root"/* "$root"/.ci; do
    case "${entry##*/}" in
    build* | '*') ;;
    examples) cp -R "$entry" "$scratch/root/" ;;
    *) ln -s "$entry" "$scratch/root/" ;;
    esac
done
[ "$build" = none ] || ln -s "$build" "$scratch/root/build"

# One file a block: its first line is the number of the line where it begins and the words behind
# the fence.
awk -v folder="$scratch/blocks" '
    /^```/ && open { open = 0; close(file); next }
    /^```/ { open = 1; file = sprintf("%s/%03d", folder, ++count)
             print NR, substr($0, 4) > file; next }
    open { print > file }
    END { if (open) { print "a block is not closed"; exit 1 } }' "$document"

failures=0
ran=0
files=0
outputs=0
gpu=0
long=0
ci=0
fail() {
    echo "${document#"$root/"}:$line: $*"
    failures=$((failures + 1))
}

out=$scratch/out
: >"$out"
cd "$scratch/root"
for block in "$scratch"/blocks/*; do
    [ -e "$block" ] || continue
    read -r line words <"$block" || true
    text=$scratch/text
    tail -n +2 "$block" >"$text"
    read -r -a word <<<"$words" || true
    kind=${word[0]:-}
    note=${word[1]:-}
    case "$kind/$note" in
    */file=*)
        cp "$text" "${note#file=}"
        files=$((files + 1))
        ;;
    */output)
        outputs=$((outputs + 1))
        awk -f "$here/matches.awk" "$text" "$out" || { fail "the commands above print something else:"; cat "$out"; }
        ;;
    sh/)
        ran=$((ran + 1))
        echo "== ${document#"$root/"}:$line"
        cat "$text"
        if ! bash -euo pipefail "$text" >"$out" 2>"$scratch/err" </dev/null; then
            fail "the commands fail:"
            cat "$out" "$scratch/err"
        fi
        ;;
    sh/gpu) gpu=$((gpu + 1)) ;;
    sh/long) long=$((long + 1)) ;;
    sh/ci)
        ci=$((ci + 1))
        while read -r command; do
            grep -qF -- "$command" .ci/run || fail ".ci/run does not run: $command"
        done <"$text"
        ;;
    sh/*) fail "unknown words behind the fence: $words" ;;
    esac
done
echo "${document#"$root/"}: $ran blocks ran, $files files, $outputs outputs compared;" \
    "left out: $gpu for a GPU, $long long, $ci run by .ci/run"
[ "$failures" = 0 ]
