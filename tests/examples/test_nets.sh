# The networks of examples/ with random weights on odd and small images, against the evaluator.
# tests/bench/nets.py compares them with torchvision's at full size.
# usage: test_nets.sh ADEPT SCRATCH
. tests/cli/lib.sh

# image DTYPE N H W: N images of 3 channels as a .npy: pixels of the digits, or seven numbers over and over
image() {
    count=$(($2 * 3 * $3 * $4))
    descr='<f4' bytes=4
    [ "$1" = f32 ] || descr='<f2' bytes=2
    header="{'descr': '$descr', 'fortran_order': False, 'shape': ($2, 3, $3, $4), }"
    {
        printf '\223NUMPY\001\000\166\000%-117s\n' "$header"
        if [ "$1" = f32 ]; then
            tail -c +129 examples/digits/digits_images.npy
        else
            printf '\0\074\0\270\0\064\0\274\0\071\0\0\125\265%.0s' $(seq $((count / 7 + 1)))
        fi | head -c $((count * bytes))
    } >"$scratch/image.npy"
}

# check DTYPE N H W MODEL OPTIONS..
check() {
    dtype=$1
    image "$1" "$2" "$3" "$4"
    model=$5
    shift 5
    "$adept" run "examples/$model" "$@" -D T=$dtype -D F=f16 --random-weights 1 \
        --in "image=$scratch/image.npy" --check >"$scratch/out" 2>&1 ||
        fail "$model $* $dtype: $(cat "$scratch/out")"
    grep -q '^check ' "$scratch/out" || fail "$model $* $dtype was not checked"
}

check f16 1 32 32 mobilenet/mobilenet_v3.adp -D H=32 -D W=32 -D size=small
check f32 2 33 47 unet/unet.adp -D H=33 -D W=47 -D width=4
check f32 3 48 48 vit/vit.adp -D image=48 -D layers=2 -D D=96 -D heads=3 -D mlp=160
check f16 1 48 48 vit/vit.adp -D image=48 -D layers=2 -D D=96 -D heads=3 -D mlp=160
finish
