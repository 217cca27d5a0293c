#!/bin/sh
# Words and paths that have no place in the sources: unfinished work, and places that exist only
# on the machine where somebody worked. Patterns are written so that they do not match themselves.
# usage: words.sh SOURCE_ROOT
set -eu
cd "$1"

status=0
refuse() { # what, extended regular expression
    if find . \( -path ./.git -o -path './build*' -o -path ./.cache -o -path '*/corpus' \) -prune -o \
        -type f -print | LC_ALL=C sort | xargs grep -nIE "$2"; then
        echo "^ $1"
        status=1
    fi
}

refuse "unfinished work" '\<(TO[D]O|FIX[M]E|XX[X]|HAC[K])\>|\<[Ss]tu[b]s?\>'
refuse "a path of one machine" '(^|[^A-Za-z0-9_.])(share[d]/|/wor[k]/|/hom[e]/|/User[s]/)'
refuse "the name of a package mirror" '(deb|ftp|security|snapshot)\.debian\.or[g]'
exit $status
