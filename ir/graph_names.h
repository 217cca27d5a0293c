// What a graph's values are called in its text, and which nodes print nested in their consumers.
// Private to ir/graph_print.c and ir/graph_names.c.
//
// Names are the values' own, with two exceptions (language.md section 11). All versions of a state
// carry the state's name; so do a repeat's initial value, parameter, yield and result, in which one
// name is assigned twice. Where an older value is used after its name has moved on, a line before
// that point gives it a name of its own, which makes no node.
#pragma once

#include "ir/graph.h"

typedef struct PrintNames {
    const Graph *g;
    Arena *arena;
    uint32_t *order;      // per node: position of its line; program order through all regions
    uint32_t *end;        // per region: position of its end
    uint32_t *last_use;   // per value: latest position that reads it, through nested views
    bool *nested;         // per node: prints inside its consumers
    const char **shown;   // per value
    const char **alias;   // per value: name after `moved`, or NULL
    uint32_t *moved;      // per value: position from which `shown` means something else
    ValueId *first_alias; // per node: values whose alias lines stand before it ...
    ValueId *next_alias;  // ... linked per value
    bool *assigned;       // per carried result: the yield's own line or an inner repeat assigns it
} PrintNames;

void graph_name_values(const Graph *g, Arena *arena, PrintNames *names);
const char *graph_shown_name(const PrintNames *names, ValueId value, uint32_t position);
