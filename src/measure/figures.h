// fill_result: fills a record from the results of a run, whichever program ran the steps.
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

// The event number of own_phases[i] in a timeline. The numbers of the engine's phases come first.
constexpr int own_phase_number(size_t i) { return kPhaseCount + static_cast<int>(i); }

// The facts, apart from measurements, on which the results of a run depend.
struct MeasuredWork {
  Pass pass = Pass::kStep;
  std::vector<Phase> phases{};                 // phases timed in every step, in order
  std::vector<std::string> own_phases{};       // other phases named by a recorded step: "data"
  std::optional<ModelSummary> model{};         // none if unknown
  std::optional<double> optimizer_flops{};     // of one update of all parameters
  std::optional<int64_t> tokens{};             // per step
  std::optional<double> datasheet_flops{};     // peak FLOP/s of the device
  ProductMath peak_math = ProductMath::kNone;  // arithmetic for which the peaks are stated and measured
  int64_t ranks = 1;                           // processes that shared the work; peaks are totals over the ranks
  std::optional<int> threads{};  // number of threads that shared the work; none for a device without threads
  bool is_predicted = false;     // true if a device model produced the times
  bool in_this_process = true;   // true if the counters and the build of this process apply to the steps
};

// Sets the status and, if there is a sample, everything derived from the samples: times, phases, rates, first steps,
// verdict, disturbances and stopping. Returns false if there is no sample or if values are not finite. Values that are
// not finite make the record `failed` without times; an interrupted run keeps the samples taken so far.
bool fill_result(const MeasuredWork& work, const Measurement& run, Record& record);

}  // namespace laptime
