#!/bin/sh
# Every stage's text comes back as itself, and going on from it gives what going on without it gives.
. tests/cli/lib.sh "$1" "$2"

for model in tests/cli/models/*.adp examples/digits/*.adp examples/mlp/*.adp \
    tests/golden/language/*.adp; do
    expect 0 compile "$model" --strip -o "$scratch/a.adx"
    for stage in graph plan kernels; do
        expect 0 compile "$model" --emit=$stage -o "$scratch/first" --verify-each
        expect 0 opt "$scratch/first" --emit=$stage -o "$scratch/second" --verify-each
        cmp "$scratch/first" "$scratch/second" || fail "$model: $stage"
        # The package too, but for the graph that it carries.
        mv "$scratch/first" "$scratch/${model##*/}"
        expect 0 opt "$scratch/${model##*/}" --emit=package --strip -o "$scratch/b.adx"
        cmp "$scratch/a.adx" "$scratch/b.adx" || fail "$model: package from $stage"
    done
done
finish
