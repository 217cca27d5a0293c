adept 1

block Own(x: [3] f32) -> [3] f32 {
    state own : [3] f32 = 3
    own[...] = own * x
    return own
}

model counter {
    dim N in 1..=64
    input x : [N, 3] f32
    state s : [2, 3] f32 = 1
    state deep : [3] f32 = 2
    output y = x + deep
    s[...] = s + 1
    output t = s
    repeat i in 0..3 {
        deep[...] = deep * 0.25 + Own(deep * 0.5) at "trip.{i}"
    }
}
