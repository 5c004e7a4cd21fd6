// fill_result: what a run showed, as the fields of its record, whoever ran the steps.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/run_config.h"
#include "graph/graph.h"
#include "measure/measurement.h"
#include "model/parameters.h"
#include "record/record.h"

namespace laptime {

// The number of the events of own_phases[i] in a timeline, behind those of the phases of an engine.
constexpr int own_phase_number(size_t i) { return kPhaseCount + static_cast<int>(i); }

// What the figures of a run depend on beside its measurements.
struct MeasuredWork {
  Pass pass = Pass::kStep;
  std::vector<Phase> phases{};                 // that were timed in every step, in order
  std::vector<std::string> own_phases{};       // other phases that a recorded step names: "data"
  std::optional<ModelSummary> model{};         // none where it is not known
  std::optional<double> optimizer_flops{};     // of one update
  std::optional<int64_t> tokens{};             // of a step
  std::optional<double> datasheet_flops{};     // peak FLOP/s of the device
  ProductMath peak_math = ProductMath::kNone;  // in which the peaks are stated and measured
  std::optional<int> threads{};                // that shared the work; none for a device without
  bool is_predicted = false;                   // a device model gave the times
  bool in_this_process = true;                 // counters and build of this process concern the steps
};

// Sets the status, and where there is a sample everything that follows from the samples: times, phases, rates, first
// steps, verdict, disturbances and stopping. Returns whether it did. Values that are not finite make the record
// `failed` without times; an interrupted run has those of its samples until then.
bool fill_result(const MeasuredWork& work, const Measurement& run, Record& record);

}  // namespace laptime
