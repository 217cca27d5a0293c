#!/bin/sh
# Relative links of the documents lead to files that exist, anchors to headings, and paths of the
# sources that the text names in `...` are there (a * may stand in them).
# usage: links.sh SOURCE_ROOT
set -eu
cd "$1"

anchors() { # the anchors of a document, as GitHub makes them from its headings
    awk '/^```/ { code = !code } !code && /^#+ /' "$1" | sed 's/^#* //; s/`//g' |
        tr '[:upper:]' '[:lower:]' | sed 's/[^a-z0-9 _-]//g; s/ /-/g'
}

bad=0
count=0
for document in README.md CHANGELOG.md docs/*.md; do
    [ -e "$document" ] || continue
    prose=$(awk '/^```/ { code = !code; next } !code' "$document")
    folder=$(dirname "$document")
    for link in $(printf '%s\n' "$prose" | sed 's/`[^`]*`//g' | grep -oE '\]\([^)]+\)' | sed 's/^](//; s/)$//'); do
        case "$link" in
        *://* | mailto:*) continue ;;
        esac
        count=$((count + 1))
        path=${link%%#*}
        target=$document
        [ -z "$path" ] || target=$folder/$path
        if [ ! -e "$target" ]; then
            echo "$document: the link $link leads nowhere"
            bad=$((bad + 1))
            continue
        fi
        case "$link" in
        *#*)
            if ! anchors "$target" | grep -qxF -- "${link#*#}"; then
                echo "$document: $link: there is no such heading"
                bad=$((bad + 1))
            fi
            ;;
        esac
    done
    for path in $(printf '%s\n' "$prose" | grep -oE '`[^` ]+`' | tr -d '`' |
        grep -E '^(\.ci|ir|passes|codegen|runtime|frontend|tests|examples|docs)/[A-Za-z0-9_.*/-]*$'); do
        count=$((count + 1))
        # shellcheck disable=SC2086
        set -- $path
        if [ ! -e "$1" ]; then
            echo "$document: there is no $path"
            bad=$((bad + 1))
        fi
    done
done
echo "$count links and paths, $bad wrong"
[ "$bad" = 0 ] && [ "$count" -gt 0 ]
