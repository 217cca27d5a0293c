# A value read from a state before an update does not change.
adept 1
dim P in 0..4
model m {
    input x : [2] f32
    state s : [4, 2] f32
    before = s[P]
    whole = s
    s[P] = x
    after = s[P]
    s[:, 0] = after[0]
    output a : [2] f32 = before
    output b : [4, 2] f32 = whole
    output c : [2] f32 = after
    output d : [4, 2] f32 = s
}
#| adept 1 ir
#| model m {
#|     dim P in 0..=3
#|     input x : [2] f32 loc(5, 5)
#|     state s : [4, 2] f32 from "/s" loc(6, 5)
#|     before.slice : [1, 2] f32 = s[P:P + 1, :] loc(7, 14)
#|     before : [2] f32 = squeeze(before.slice, axis=0) loc(7, 14)
#|     output a : [2] f32 = before loc(12, 5)
#|     output b : [4, 2] f32 = s loc(13, 5)
#|     s.1 : [4, 2] f32 = s
#|     s[P:P + 1, :] = x loc(9, 5)
#|     after.slice : [1, 2] f32 = s[P:P + 1, :] loc(10, 13)
#|     after : [2] f32 = squeeze(after.slice, axis=0) loc(10, 13)
#|     output c : [2] f32 = after loc(14, 5)
#|     s.slice : [1] f32 = after[0:1] loc(11, 15)
#|     s.squeeze : f32 = squeeze(s.slice, axis=0) loc(11, 15)
#|     s[:, 0:1] = s.squeeze loc(11, 5)
#|     output d : [4, 2] f32 = s loc(15, 5)
#| }
