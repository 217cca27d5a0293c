#!/bin/sh
# Every stage's text comes back as itself.
. tests/cli/lib.sh "$1" "$2"

for model in tests/cli/models/*.adp examples/digits/*.adp examples/mlp/*.adp; do
    for stage in graph plan kernels; do
        expect 0 compile "$model" --emit=$stage -o "$scratch/first" --verify-each
        expect 0 opt "$scratch/first" --emit=$stage -o "$scratch/second" --verify-each
        cmp "$scratch/first" "$scratch/second" || fail "$model: $stage"
    done
    # From the kernels' text on, the package is the same but for the graph it carries.
    expect 0 compile "$model" --strip -o "$scratch/a.adx"
    mv "$scratch/first" "$scratch/${model##*/}"
    expect 0 opt "$scratch/${model##*/}" --emit=package --strip -o "$scratch/b.adx"
    cmp "$scratch/a.adx" "$scratch/b.adx" || fail "$model: package"
done
finish
