#!/bin/sh
# Below the command line nothing ends the process or writes to the terminal: errors are values. The
# one exception is ir/base.c, where the compiler (not the runtime) runs out of host memory.
# The one exception is the compiler running out of memory (ir/memory.c).
# usage: symbols.sh ARCHIVE...
set -eu

bad=0
for archive; do
    found=$(nm -A -u "$archive" | grep -v ':memory\.c\.o:' |
        awk '$0 !~ /:base\.c\.o:/ && $NF ~ /^(exit|_exit|_Exit|quick_exit|abort|printf|vprintf|puts|putchar|perror|stdout|stderr)$/')
    if [ -n "$found" ]; then
        echo "$found"
        bad=1
    fi
done
[ "$bad" = 0 ]
