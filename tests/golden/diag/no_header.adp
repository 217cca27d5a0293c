model m {
    output y = 1
}
#| no_header.adp:1:1: error: the first statement of a model file is `adept 1`
#|     1 | model m {
#|       | ^~~~~
