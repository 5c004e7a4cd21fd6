// forecast_point: what a point would take and hold, without running it or allocating its memory.
#pragma once

#include <cstdint>
#include <string>

#include "measure/run_one.h"
#include "points/expand.h"
#include "prepare/knowledge.h"

namespace laptime {

// The record has the predicted bytes and, where there is something to predict from, times; it is out_of_memory with the
// arithmetic if the plan does not fit. The trace has the launches and buffers of the plan and, with times, one step.
PointResult forecast_point(const SweepPoint& point, const MachineKnowledge& known);

// The size that is enlarged: sequences of a batch, or tokens of the context.
enum class Enlarged : uint8_t { kBatch, kContext };

// The largest value with which the point fits into memory; 0 if it does not fit with 1. `limit` ends the search.
// Error if the device cannot run the point.
int64_t largest_that_fits(const RunConfig& config, const MachineKnowledge& known, Enlarged what, int64_t limit);

// "it fits with --batch 2 or with --context 128", of a point that does not fit; empty if the device cannot run it.
std::string sizes_that_fit(const RunConfig& config, const MachineKnowledge& known);

}  // namespace laptime
