# DEFINE: width=8
# DEFINE: depht=3
# DEFINE: scale=x + 1
# DEFINE: table=3
# DEFINE: word=in
adept 1
const width = 4
const depth = 2
const word = 1 // 1
const more = word + 1
const scale = 1.5
const table : [1] f32 = [1]
model m {
    input x : [width] f32
    output y : [4] f32 = x * depth * more * scale * table
}
#| defines.adp: error: -D depht: the file has no const depht
#| help: did you mean depth?
#| defines.adp:10:19: error: '+' does not work on a string and an int
#|    10 | const more = word + 1
#|       |                   ^
#| defines.adp:12:7: error: -D table: the const is a tensor
#|    12 | const table : [1] f32 = [1]
#|       |       ^~~~~
#| -D:1:1: error: the value of -D scale must be a literal or a word
#|     1 | x + 1
#|       | ^~~~~
