adept 1
model m {
    y = (3
#| not_closed.adp:4:1: error: unexpected end of the file, expected an operator or ')'
#|     4 |
#|       | ^
#| not_closed.adp:3:9: note: this '(' is not closed
