// laptime explain: what would run for a point, told without running it or taking its memory.
#pragma once

#include <string>
#include <vector>

#include "config/sweep.h"
#include "record/explanation.h"
#include "record/store.h"

namespace laptime {

// `known`: the choices of this machine.
Explanation explain(const SweepPoint& point, const std::vector<KernelChoice>& known);

// --dump: the graph after each pass; the plan. Error for a point that is invalid or that its device does not run.
std::string dump_graph(const SweepPoint& point, const std::vector<KernelChoice>& known);
std::string dump_plan(const SweepPoint& point, const std::vector<KernelChoice>& known);

}  // namespace laptime
