#include "codegen/modules.h"

Modules modules_emit(const Program *program, bool debug) {
    const Graph *graph = program->plan->graph;
    Modules modules = {.count = program->kernels.len};
    modules.at = arena_alloc(graph->arena, modules.count * sizeof *modules.at);
    SpirvOptions options = {program->plan->target.features, debug, graph->file};
    for (uint32_t i = 0; i < modules.count; i++) {
        modules.at[i] = spirv_emit(graph->arena, program->kernels.at[i], &options);
    }
    return modules;
}
