adept 1
model m {
    a01 = u; a02 = u; a03 = u; a04 = u; a05 = u; a06 = u; a07 = u; a08 = u; a09 = u; a10 = u
    b01 = u; b02 = u; b03 = u; b04 = u; b05 = u; b06 = u; b07 = u; b08 = u; b09 = u; b10 = u
    c01 = u; c02 = u; c03 = u; c04 = u; c05 = u; c06 = u; c07 = u; c08 = u; c09 = u; c10 = u
}
#| many.adp:3:11: error: unknown name u
#|     3 |     a01 = u; a02 = u; a03 = u; a04 = u; a05 = u; a06 = u; a07 = u; a08 = u; a09 = u; a10 = u
#|       |           ^
#| many.adp:3:20: error: unknown name u
#|     3 |     a01 = u; a02 = u; a03 = u; a04 = u; a05 = u; a06 = u; a07 = u; a08 = u; a09 = u; a10 = u
#|       |                    ^
#| many.adp:3:29: error: unknown name u
#|     3 |     a01 = u; a02 = u; a03 = u; a04 = u; a05 = u; a06 = u; a07 = u; a08 = u; a09 = u; a10 = u
#|       |                             ^
#| many.adp:3:38: error: unknown name u
#|     3 |     a01 = u; a02 = u; a03 = u; a04 = u; a05 = u; a06 = u; a07 = u; a08 = u; a09 = u; a10 = u
#|       |                                      ^
#| many.adp:3:47: error: unknown name u
#|     3 |     a01 = u; a02 = u; a03 = u; a04 = u; a05 = u; a06 = u; a07 = u; a08 = u; a09 = u; a10 = u
#|       |                                               ^
#| many.adp:3:56: error: unknown name u
#|     3 |     a01 = u; a02 = u; a03 = u; a04 = u; a05 = u; a06 = u; a07 = u; a08 = u; a09 = u; a10 = u
#|       |                                                        ^
#| many.adp:3:65: error: unknown name u
#|     3 |     a01 = u; a02 = u; a03 = u; a04 = u; a05 = u; a06 = u; a07 = u; a08 = u; a09 = u; a10 = u
#|       |                                                                 ^
#| many.adp:3:74: error: unknown name u
#|     3 |     a01 = u; a02 = u; a03 = u; a04 = u; a05 = u; a06 = u; a07 = u; a08 = u; a09 = u; a10 = u
#|       |                                                                          ^
#| many.adp:3:83: error: unknown name u
#|     3 |     a01 = u; a02 = u; a03 = u; a04 = u; a05 = u; a06 = u; a07 = u; a08 = u; a09 = u; a10 = u
#|       |                                                                                   ^
#| many.adp:3:92: error: unknown name u
#|     3 |     a01 = u; a02 = u; a03 = u; a04 = u; a05 = u; a06 = u; a07 = u; a08 = u; a09 = u; a10 = u
#|       |                                                                                            ^
#| many.adp:4:11: error: unknown name u
#|     4 |     b01 = u; b02 = u; b03 = u; b04 = u; b05 = u; b06 = u; b07 = u; b08 = u; b09 = u; b10 = u
#|       |           ^
#| many.adp:4:20: error: unknown name u
#|     4 |     b01 = u; b02 = u; b03 = u; b04 = u; b05 = u; b06 = u; b07 = u; b08 = u; b09 = u; b10 = u
#|       |                    ^
#| many.adp:4:29: error: unknown name u
#|     4 |     b01 = u; b02 = u; b03 = u; b04 = u; b05 = u; b06 = u; b07 = u; b08 = u; b09 = u; b10 = u
#|       |                             ^
#| many.adp:4:38: error: unknown name u
#|     4 |     b01 = u; b02 = u; b03 = u; b04 = u; b05 = u; b06 = u; b07 = u; b08 = u; b09 = u; b10 = u
#|       |                                      ^
#| many.adp:4:47: error: unknown name u
#|     4 |     b01 = u; b02 = u; b03 = u; b04 = u; b05 = u; b06 = u; b07 = u; b08 = u; b09 = u; b10 = u
#|       |                                               ^
#| many.adp:4:56: error: unknown name u
#|     4 |     b01 = u; b02 = u; b03 = u; b04 = u; b05 = u; b06 = u; b07 = u; b08 = u; b09 = u; b10 = u
#|       |                                                        ^
#| many.adp:4:65: error: unknown name u
#|     4 |     b01 = u; b02 = u; b03 = u; b04 = u; b05 = u; b06 = u; b07 = u; b08 = u; b09 = u; b10 = u
#|       |                                                                 ^
#| many.adp:4:74: error: unknown name u
#|     4 |     b01 = u; b02 = u; b03 = u; b04 = u; b05 = u; b06 = u; b07 = u; b08 = u; b09 = u; b10 = u
#|       |                                                                          ^
#| many.adp:4:83: error: unknown name u
#|     4 |     b01 = u; b02 = u; b03 = u; b04 = u; b05 = u; b06 = u; b07 = u; b08 = u; b09 = u; b10 = u
#|       |                                                                                   ^
#| many.adp:4:92: error: unknown name u
#|     4 |     b01 = u; b02 = u; b03 = u; b04 = u; b05 = u; b06 = u; b07 = u; b08 = u; b09 = u; b10 = u
#|       |                                                                                            ^
