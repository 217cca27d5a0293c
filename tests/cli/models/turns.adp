# 46 quarter turns are a half turn; they are more moves than brackets may nest.
adept 1
fn quarter[M, N](x: [M, N] f32) -> [N, M] f32 {
    return flip(x.T, axis=0)
}
fn turns[M, N](x: [M, N] f32) -> [M, N] f32 {
    y = quarter(quarter(x))
    y = quarter(quarter(y))
    y = quarter(quarter(y))
    y = quarter(quarter(y))
    y = quarter(quarter(y))
    y = quarter(quarter(y))
    y = quarter(quarter(y))
    y = quarter(quarter(y))
    y = quarter(quarter(y))
    y = quarter(quarter(y))
    y = quarter(quarter(y))
    y = quarter(quarter(y))
    y = quarter(quarter(y))
    y = quarter(quarter(y))
    y = quarter(quarter(y))
    y = quarter(quarter(y))
    y = quarter(quarter(y))
    y = quarter(quarter(y))
    y = quarter(quarter(y))
    y = quarter(quarter(y))
    y = quarter(quarter(y))
    y = quarter(quarter(y))
    y = quarter(quarter(y))
    return y
}
model turns {
    dim N in 1..=64
    input x : [N, 3] f32
    output y : [N, 3] f32 = turns(x)
}
