// Explains what a point would run, without running it or allocating its memory, for `laptime explain`.
#pragma once

#include <string>
#include <vector>

#include "prepare/resolved_point.h"
#include "record/explanation.h"

namespace laptime {

Explanation explain(const ResolvedPoint& point, const KnowledgeOf& known);

// The graph after each pass, as text for `--dump`. Throws Error if the point is invalid.
std::string dump_graph(const ResolvedPoint& point, const KnowledgeOf& known);
// The plan, as text for --dump. Throws Error if the point is invalid or its device cannot run it.
std::string dump_plan(const ResolvedPoint& point, const KnowledgeOf& known);

}  // namespace laptime
