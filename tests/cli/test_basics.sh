#!/bin/sh
# Commands, help, version, usage errors.
. tests/cli/lib.sh "$1" "$2"

expect 0 --version
out_has "adept "
expect 0 help
out_has "exit codes: 0 ok"
expect 0 --help
out_has "usage: adept COMMAND"
expect 2
expect 2 hlep
err_has "unknown command 'hlep'; did you mean 'help'?"
expect 2 help a b
err_has "at most one command"
expect 2 help nothing
err_has "no command 'nothing'"

# Every command has help and refuses what it does not know.
for command in $("$adept" help | awk '/^  [a-z]/ { print $1 }'); do
    expect 0 help "$command"
    out_has "usage: adept $command"
    expect 0 "$command" --help
    out_has "usage: adept $command"
    expect 2 "$command" --no-such-option
    err_has "unknown option '--no-such-option'"
done

# A full disk is an error, not silence.
if [ -c /dev/full ]; then
    code=0
    "$adept" help >/dev/full 2>"$scratch/err" || code=$?
    [ "$code" = 1 ] || fail "help to a full disk: exit $code"
    err_has "No space left"
fi
# A closed stream is not taken by a file that is then written into.
expect 0 compile tests/cli/models/elementwise.adp -o "$scratch/a.adx"
"$adept" compile tests/cli/models/elementwise.adp -o "$scratch/b.adx" <&- >&- 2>&-
cmp "$scratch/a.adx" "$scratch/b.adx" || fail "closed streams"
"$adept" compile tests/cli/models/elementwise.adp --emit=graph >&- 2>"$scratch/err" &&
    fail "a closed output is no error"
finish
