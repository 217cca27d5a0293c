# Read by every test_*.sh:  . tests/cli/lib.sh ADEPT SCRATCH
# Runs from the root of the sources. A check that fails says so and the test goes on; `finish` ends
# it.
set -u
adept=$1
scratch=$2
rm -rf "$scratch"
mkdir -p "$scratch"
failures=0

fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}

# expect CODE ARGUMENT..: runs adept, whose output and errors go to $scratch/out and $scratch/err.
expect() {
    wanted=$1
    shift
    code=0
    "$adept" "$@" >"$scratch/out" 2>"$scratch/err" </dev/null || code=$?
    if [ "$code" != "$wanted" ]; then
        fail "adept $*: exit $code, not $wanted"
        cat "$scratch/err"
    fi
}

# out_has TEXT, err_has TEXT: the last run said so.
out_has() {
    grep -qF -- "$1" "$scratch/out" || fail "output lacks: $1"
}
err_has() {
    grep -qF -- "$1" "$scratch/err" || {
        fail "errors lack: $1"
        cat "$scratch/err"
    }
}

finish() {
    [ "$failures" = 0 ]
    exit
}
