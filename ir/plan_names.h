// Names in the texts of plans and programs; shared by their printers and parsers.
#pragma once

#include "ir/plan.h"

const char *buffer_kind_name(BufferKind kind);
bool buffer_kind_from_name(const char *name, BufferKind *out);

void plan_print_value(const Graph *g, ValueId value, Text *out);
ValueId plan_value_from_name(const Graph *g, const char *name); // 0 if there is none
NodeId plan_fused_from_name(const Graph *g, const char *name);  // 0 if there is none

// The plan's text under another first line.
void plan_print_as(const Plan *plan, const char *first_line, Text *out);
