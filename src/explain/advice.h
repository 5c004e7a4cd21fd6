// Advice on a planned point: what would make it fit or faster, and the sizes that fit, each found by planning a
// variant.
#pragma once

#include <functional>

#include "analysis/plan_findings.h"
#include "prepare/knowledge.h"
#include "prepare/resolved_point.h"

namespace laptime {

// The parts of advice that are asked for.
struct AdviceParts {
  bool remedies = true;       // recomputation that fits, if the point does not
  bool compile_mode = true;   // compile mode, where that fits or is faster
  bool launch_bound = false;  // whether starting the kernels takes longer than running them
  bool largest_sizes = false;
  bool framework = false;  // the bytes of eager mode without recomputation
};

// `begin` is called with the name of each stage, which may take seconds; if it returns false, the advice ends there.
using BeginStage = std::function<bool(const char* stage)>;

// `planned` has the record of the point, which has a device.
void advise(const ResolvedPoint& point, const KnowledgeOf& known, const AdviceParts& parts, const BeginStage& begin,
            PlannedPoint& planned);

}  // namespace laptime
