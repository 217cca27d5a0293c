#!/bin/sh
# adept bench: tiny shapes, timed and checked; what is no case; random weights
. tests/cli/lib.sh "$1" "$2"

expect 0 bench gemm --shape 17x9x33,64x32x16 --dtype f32,f16 --warm
out_has "gemm 17x9x33 f32 nk"
out_has "gemm 64x32x16 f16 nk"
out_has "local="
expect 0 bench gemm --shape 8x8x32 --dtype i8 --b-layout kn --batch 2 --csv
out_has "case,us,least_us,tflops,gb_per_s,error,schedule"
out_has "gemm 2x8x8x32 i8 kn,"
for epilogue in bias bias_relu bias_gelu bias_gelu_tanh bias_residual gate; do
    expect 0 bench linear --shape 8x16x32 --epilogue $epilogue --warm
    out_has "linear 8x16x32 f32 nk $epilogue"
done
expect 0 bench softmax --shape 8x33
expect 0 bench rms_norm --shape 8x64 --dtype f16
expect 0 bench transpose --shape 8x33 --dtype bf16
expect 0 bench transpose --shape 36x20 --dtype f16 \
    --schedule "form=tile, local=32, tile_m=8, tile_n=16, vec=4"
expect 0 bench transpose_map --shape 9x33 --warm
expect 0 bench transpose_map --shape 70x33 --warm \
    --schedule "form=tile, local=64, tile_m=32, tile_n=16, vec=1"
expect 0 bench slice --shape 6x15 --dtype f16
expect 0 bench map --shape 5x7 --warm
expect 0 bench layer_norm --shape 4x50 --warm
expect 0 bench conv --shape 1x3x9x4x3x2 --warm
out_has "conv 1x3x9x4x3x2 f32"
expect 0 bench depthwise_nhwc --shape 1x8x9x3x2 --warm
out_has "depthwise_nhwc 1x8x9x3x2 f32"
expect 0 bench attention --shape 1x4x3x16 --kv-heads 2 --keys 7 --causal --dtype f16 --warm
out_has "attention 1x4x3x16 f16 kv2x7 causal"
expect 2 bench attention --shape 1x4x3x16 --kv-heads 3

# Any candidate can be tried by hand: the table shows what was given.
expect 0 bench gemm --shape 64x64x64 --list-schedules
out_has "candidates"
schedule=$(sed -n '3s/^ *[^ ]*  \(.*\)  #.*/\1/p' "$scratch/out")
expect 0 bench gemm --shape 64x64x64 --schedule "$schedule" --warm
out_has "$schedule"
expect 0 bench gemm --shape 32x32x32 --sweep 2 --warm
[ "$(grep -c '^gemm 32x32x32' "$scratch/out")" = 2 ] || fail "not two candidates"
expect 1 bench gemm --shape 64x64x64 --schedule "form=simt, local=64, tile_m=3"
expect 2 bench gemm --schedule "colour=3"
err_has "--schedule"

expect 2 bench
expect 2 bench gem
err_has "did you mean 'gemm'?"
expect 2 bench gemm --shape 8x8
err_has "MxNxK is wanted"
expect 2 bench gemm --dtype f64
expect 1 bench gemm --math quick
err_has "strict or fast is wanted"
expect 2 bench gemm --epilogue bias_gel
err_has "did you mean 'bias_gelu'?"
expect 2 bench gemm --dtype i8 --epilogue bias_gelu
expect 2 bench gemm --b-layout xy
expect 3 bench gemm --device no-such-device

# A model: with its weights, with random ones, and one run after another.
model=examples/digits/lenet5
expect 0 bench $model.adp -w $model.safetensors --dim N=2
out_has "run on the device: median"
out_has "total on the device"
expect 0 bench $model.adp --random-weights 7 --steps 3
out_has "3 steps:"
expect 1 bench $model.adp --random-weights x
err_has "a number is wanted"
expect 1 bench no/such/file.adp
expect 2 bench $model.adp -w $model.safetensors --dim M=2
err_has "no such dim"
finish
