// Explains what a point would run, without running it or allocating its memory, for `laptime explain`.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "points/expand.h"
#include "record/explanation.h"
#include "record/store.h"

namespace laptime {

// Returns the stored kernel choices for a device key (device_key); null if there is no store.
using KnownChoices = std::function<std::vector<KernelChoice>(const std::string& device)>;

Explanation explain(const SweepPoint& point, const KnownChoices& known);

// The graph after each pass and the plan, as text for --dump. Error if the point is invalid or its device cannot run
// it.
std::string dump_graph(const SweepPoint& point, const KnownChoices& known);
std::string dump_plan(const SweepPoint& point, const KnownChoices& known);

}  // namespace laptime
