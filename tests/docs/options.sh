#!/bin/sh
# docs/command-line.md names every command and every option of it, and no option that none has.
# usage: options.sh SOURCE_ROOT ADEPT
set -eu
document=$1/docs/command-line.md
adept=$2
bad=0
complain() {
    echo "docs/command-line.md: $*"
    bad=1
}

options=
for command in $("$adept" help | awk '/^  [a-z]/ { print $1 }'); do
    grep -q "^## .*adept $command" "$document" || complain "no heading for adept $command"
    options="$options $("$adept" help "$command" | grep -oE -- '--[a-z][a-z-]*' | sort -u)"
done
options=$(printf '%s\n' $options | sort -u)
for option in $options; do
    grep -qE -- "\`$option[\` ]" "$document" || complain "nothing about $option"
done
for option in $(awk '/^```/ { code = !code } !code' "$document" | grep -oE -- '`--[a-z][a-z-]*' |
    tr -d '`' | sort -u); do
    case "$option" in --version | --name) continue ;; esac
    printf '%s\n' $options | grep -qxF -- "$option" || complain "no command has $option"
done
count=$(printf '%s\n' $options | wc -l)
echo "$count options"
[ "$bad" = 0 ] && [ "$count" -gt 20 ]
