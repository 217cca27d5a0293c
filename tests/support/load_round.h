// Loads a text as a graph; what is accepted must be a good graph whose dump comes back as it was,
// what is refused must come with a reason. Anything else is abort().
#pragma once

#include <stddef.h>

void load_round(const char *text, size_t size);
