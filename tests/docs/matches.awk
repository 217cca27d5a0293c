# Is the second file what the first one expects? A line "..." there stands for any lines, " ..." at
# the end of a line for any rest of it.
# usage: awk -f matches.awk EXPECTATION OUTPUT

NR == FNR {
    if ($0 == "...") chunks++
    else want[chunks + 0, ++size[chunks + 0]] = $0
    next
}
{ have[++lines] = $0 }

function same(got, wanted) {
    if (wanted ~ / \.\.\.$/) return index(got, substr(wanted, 1, length(wanted) - 3)) == 1
    return got == wanted
}

function stands(chunk, at,    i) {
    if (at < 1 || at + size[chunk] - 1 > lines) return 0
    for (i = 1; i <= size[chunk]; i++)
        if (!same(have[at + i - 1], want[chunk, i])) return 0
    return 1
}

# The first chunk begins the output, the last one ends it, those between stand where they first can.
END {
    for (c = 0; c <= chunks; c++) size[c] += 0
    if (!chunks) exit !(size[0] == lines && stands(0, 1))
    if (!stands(0, 1)) exit 1
    at = 1 + size[0]
    for (c = 1; c < chunks; c++) {
        while (at <= lines && !stands(c, at)) at++
        if (!stands(c, at)) exit 1
        at += size[c]
    }
    exit !(lines - size[chunks] + 1 >= at && stands(chunks, lines - size[chunks] + 1))
}
