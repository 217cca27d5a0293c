// How most passes walk: every live node of a graph in program order, regions included, each either
// rewritten by the pass or copied. Values of the old graph map to values of the new one.
#pragma once

#include "passes/pass.h"

typedef struct Rewrite Rewrite;

// Sets *done when it gave every result of the node a new value with rewrite_set; else the node is
// copied (and the nodes of its region, if it has one, are visited in turn).
typedef bool RewriteFn(Rewrite *rewrite, NodeId node, bool *done);

struct Rewrite {
    PassContext *ctx;
    const Graph *from;
    Graph *to;
    GraphCopy copy;
    RewriteFn *fn;
    // Gives the value to use for an output, a yield or the like, which memory must hold; NULL: the
    // mapped value itself.
    ValueId (*store)(Rewrite *rewrite, ValueId old);
    // What readers of a carried value get, given what the new repeat carries; NULL: just that.
    ValueId (*load)(Rewrite *rewrite, ValueId old, ValueId carried);
    bool outputs; // set while `store` is asked for outputs
    bool carried; // set while it is asked for what a repeat starts from, which the trips overwrite
    void *user;
};

// Fills *out; false after an error, with nothing left to destroy. Only ctx, from, fn, store,
// load and user are read. Nodes that nothing needs any more after the rewriting are gone too.
bool rewrite_graph(Rewrite rewrite, Graph **out);

// Whether a node goes into the next graph: outputs or updates need it, or it is an input, which
// belongs to the model's interface.
bool rewrite_keeps(const Graph *g, const bool *live, NodeId id);

ValueId rewrite_get(Rewrite *rewrite, ValueId old); // 0 for 0
void rewrite_set(Rewrite *rewrite, ValueId old, ValueId new);
