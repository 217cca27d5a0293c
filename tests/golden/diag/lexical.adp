adept 1
model m {
    a = 9223372036854775808
    b = 1e400
    c = 12ab
    d = "not closed
    e = "bad \q escape"
    f = "\u{110000}"
    g = "open { brace"
    h = "close } brace"
    i = "{1 +}"
    j = x $ 3
    k = x × 3
    l = "“quotes” are fine in strings" # and é in comments
    name_that_is_much_longer_than_sixty_four_bytes_which_is_the_limit_ = 1
}
#| lexical.adp:3:9: error: the integer is not below 2^63
#|     3 |     a = 9223372036854775808
#|       |         ^~~~~~~~~~~~~~~~~~~
#| lexical.adp:4:9: error: the number is too large for 64 bits; write `inf`
#|     4 |     b = 1e400
#|       |         ^~~~~
#| lexical.adp:5:9: error: '12ab' is neither a number nor a name
#|     5 |     c = 12ab
#|       |         ^~~~
#| lexical.adp:6:9: error: the string is not closed on its line
#|     6 |     d = "not closed
#|       |         ^~~~~~~~~~~
#| lexical.adp:7:14: error: unknown escape; a string has \" \\ \n \t \u{hex}
#|     7 |     e = "bad \q escape"
#|       |              ^
#| lexical.adp:8:10: error: unknown escape; a string has \" \\ \n \t \u{hex}
#|     8 |     f = "\u{110000}"
#|       |          ^
#| lexical.adp:9:15: error: '{' is not closed in the string; write '{{' for a brace
#|     9 |     g = "open { brace"
#|       |               ^
#| lexical.adp:10:16: error: '}' alone in a string; write '}}' for a brace
#|    10 |     h = "close } brace"
#|       |                ^
#| lexical.adp:11:14: error: unexpected end of the expression, expected an expression
#|    11 |     i = "{1 +}"
#|       |              ^
#| lexical.adp:12:11: error: unexpected character '$'
#|    12 |     j = x $ 3
#|       |           ^
#| lexical.adp:13:11: error: '×': only ASCII stands outside comments and strings
#|    13 |     k = x × 3
#|       |           ^
#| lexical.adp:14:9: error: a name is assigned tensors, this is a string
#|    14 |     l = "“quotes” are fine in strings" # and é in comments
#|       |         ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
#| help: write const l = ...
#| lexical.adp:15:5: error: the name is longer than 64 bytes
#|    15 |     name_that_is_much_longer_than_sixty_four_bytes_which_is_the_limit_ = 1
#|       |     ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
