// Advice on a planned point: options with which it fits or runs faster, and sizes that fit, each found by planning a
// variant.
#pragma once

#include <functional>

#include "analysis/plan_findings.h"
#include "measure/forecast_point.h"
#include "prepare/knowledge.h"
#include "prepare/resolved_point.h"

namespace laptime {

// The requested parts of the advice.
struct AdviceParts {
  bool remedies = true;       // recomputation with which the point fits, if it does not fit as given
  bool compile_mode = true;   // compile mode, if that fits or is faster
  bool launch_bound = false;  // whether launching the kernels takes longer than running them
  bool largest_sizes = false;
  MemoryExcess excess{};  // sizes for which it returns a value are not planned in the search for the largest sizes
};

// Called with the name of each stage, which may take seconds; returns false to end the search for advice.
using BeginStage = std::function<bool(const char* stage)>;

// Adds the advice to `planned`, which must already contain the record of the point. The point must have a device.
void advise(const ResolvedPoint& point, const KnowledgeOf& known, const AdviceParts& parts, const BeginStage& begin,
            PlannedPoint& planned);

}  // namespace laptime
