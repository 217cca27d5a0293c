#!/bin/bash
# Plants faults in small documents and sees commands.sh and links.sh find each of them.
# usage: self.sh TESTS_DOCS SCRATCH
set -euo pipefail
here=$1
scratch=$2
rm -rf "$scratch"
root=$scratch/root
mkdir -p "$root/docs" "$root/.ci" "$root/examples" "$root/ir"
echo 'sh tests/run.sh "$@"' >"$root/.ci/run"
: >"$root/ir/op.h"
failures=0

commands() { # WANTED TEXT..
    wanted=$1
    shift
    printf '%s\n' "$@" >"$root/docs/a.md"
    code=0
    bash "$here/commands.sh" "$root" none "$root/docs/a.md" "$scratch/work" >"$scratch/log" 2>&1 ||
        code=1
    [ "$code" = "$wanted" ] || {
        echo "commands.sh: $code, not $wanted, for:"
        printf '    %s\n' "$@"
        cat "$scratch/log"
        failures=$((failures + 1))
    }
}
f='```'
commands 0 "${f}sh" true "$f"
commands 1 "${f}sh" false "$f"
commands 1 "${f}sh" 'false | true' "$f"
commands 1 "${f}sh" 'false' true "$f"
commands 1 "${f}sh" true
commands 1 "${f}sh sometimes" true "$f"
commands 0 "${f}sh gpu" false "$f" "${f}sh long" false "$f" "${f}text" false "$f"
commands 0 "${f}sh ci" 'sh tests/run.sh' "$f"
commands 1 "${f}sh ci" 'sh tests/other.sh' "$f"
commands 0 "${f}adp file=x.txt" hello "$f" "${f}sh" 'grep hello x.txt' "$f"
commands 0 "${f}sh" 'printf "a\nb\nc\n"' "$f" "${f}text output" a b c "$f"
commands 1 "${f}sh" 'printf "a\nb\nc\n"' "$f" "${f}text output" a b "$f"
commands 1 "${f}sh" 'printf "a\nb\nc\n"' "$f" "${f}text output" b c "$f"
commands 1 "${f}sh" 'printf "a\nb\n"' "$f" "${f}text output" a b c "$f"
commands 0 "${f}sh" 'printf "a\nb\nc\n"' "$f" "${f}text output" a ... c "$f"
commands 0 "${f}sh" 'printf "a\nb\nc\n"' "$f" "${f}text output" ... b ... "$f"
commands 0 "${f}sh" 'printf "a\nb\nc\n"' "$f" "${f}text output" ... c "$f"
commands 0 "${f}sh" 'printf "a\nb\nc\n"' "$f" "${f}text output" a ... "$f"
commands 1 "${f}sh" 'printf "a\nb\nc\n"' "$f" "${f}text output" ... b "$f"
commands 1 "${f}sh" 'printf "a\nb\nc\n"' "$f" "${f}text output" a ... d "$f"
commands 1 "${f}sh" 'printf "a\nb\nc\n"' "$f" "${f}text output" ... c ... b ... "$f"
commands 0 "${f}sh" 'echo one two three' "$f" "${f}text output" 'one two ...' "$f"
commands 1 "${f}sh" 'echo one two three' "$f" "${f}text output" 'one three ...' "$f"

links() { # WANTED TEXT
    printf '# A title\n\n%s\n' "$2" >"$root/docs/a.md"
    code=0
    sh "$here/links.sh" "$root" >"$scratch/log" 2>&1 || code=1
    [ "$code" = "$1" ] || {
        echo "links.sh: $code, not $1, for: $2"
        cat "$scratch/log"
        failures=$((failures + 1))
    }
}
links 0 '[here](a.md) [there](#a-title) [out](https://example.org) `ir/op.h` `ir/*.h`'
links 1 '[nowhere](b.md)'
links 1 '[a](#another-title)'
links 1 '`ir/none.h`'
links 1 '`ir/*.none`'
[ "$failures" = 0 ]
