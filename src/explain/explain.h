// laptime explain: what would run for a point, told without running it or taking its memory.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "points/expand.h"
#include "record/explanation.h"
#include "record/store.h"

namespace laptime {

// The stored choices of the device with this key (device_key); null: nothing is stored.
using KnownChoices = std::function<std::vector<KernelChoice>(const std::string& device)>;

Explanation explain(const SweepPoint& point, const KnownChoices& known);

// --dump: the graph after each pass; the plan. Error for a point that is invalid or that its device does not run.
std::string dump_graph(const SweepPoint& point, const KnownChoices& known);
std::string dump_plan(const SweepPoint& point, const KnownChoices& known);

}  // namespace laptime
