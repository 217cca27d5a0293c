adept 1
model m {
    input x : [2] f32
    _y = x + 1
}
#| no_output.adp:2:7: error: the model has no output and updates no state
#|     2 | model m {
#|       |       ^
