adept 2
model m { }
#| version.adp:1:7: error: this compiler reads version 1 of the language, not 2
#|     1 | adept 2
#|       |       ^
