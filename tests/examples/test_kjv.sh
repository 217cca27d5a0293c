# The decoder of examples/kjv: the greedy continuation of its reference, byte for byte, in f32 and in
# f16 (no two logits of these 200 steps are closer than f16 activations resolve), and prompt logits.
# usage: test_kjv.sh ADEPT SCRATCH KJV
. tests/cli/lib.sh
kjv=$3
folder=examples/kjv
prompt='Ps23:1 The LORD is my'

# The JSON string after "greedy_200", its two escapes undone.
sed -n 's/.*"greedy_200": "\(.*\)",*$/\1/p' $folder/kjv_reference.json |
    sed 's/\\n/\n/g; s/\\"/"/g' >"$scratch/wanted"
[ "$(wc -c <"$scratch/wanted")" = 222 ] || fail "the reference does not have 221 bytes and a newline"
for option in --f32 ''; do
    "$kjv" "$prompt" -n 200 $option >"$scratch/got" 2>"$scratch/err" || fail "kjv $option: exit $?"
    cmp "$scratch/got" "$scratch/wanted" || fail "kjv $option writes another text"
done
grep -q 'tokens/s' "$scratch/err" || fail 'kjv does not say how fast it was'

"$kjv" >"$scratch/out" 2>&1
[ $? = 2 ] || fail 'kjv without a text does not exit with 2'
"$kjv" "$(printf '\303\244')" >"$scratch/out" 2>&1 && fail 'kjv takes a byte above 127'
one=$("$kjv" "$prompt" -n 20 --f32 --temperature 1 --seed 7 2>/dev/null)
two=$("$kjv" "$prompt" -n 20 --f32 --temperature 1 --seed 7 2>/dev/null)
[ "$one" = "$two" ] || fail 'one seed gives two texts'
finish
