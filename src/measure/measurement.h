// Measurement: the results of running one prepared point.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/kernel.h"
#include "backend/sensors.h"
#include "base/machine_state.h"
#include "exec/executor.h"
#include "exec/sampling.h"
#include "record/record.h"
#include "record/step_trace.h"
#include "record/store.h"

namespace laptime {

// Limits with which the rates of a run are compared.
struct MeasuredLimits {
  std::optional<double> product_flops;   // FLOP/s; none for a device that computes nothing
  std::string product_flops_at;          // date of an earlier measurement; empty if measured for this run
  bool product_flops_estimated = false;  // estimated from one core, because the threads did not run together
  std::optional<double> bandwidth;       // bytes/s of device memory; none if not measured
  double page_fault = 0;                 // seconds per page fault; 0 if not measured
};

// Seconds of the launches in one step, by phase and class.
using ClassTimes = std::array<std::array<double, kWorkClassCount>, kPhaseCount>;

// The fastest matrix product of a run.
struct ReachedProducts {
  ProductMath math = ProductMath::kNone;  // arithmetic that its kernel claims to use
  double flops_per_second = 0;            // 0: no product was timed
};

struct SensorReading {
  Sensors sensors;
  size_t steps = 0;  // the number of steps that had ended
};

struct Measurement {
  SetupTimes setup;  // only the times for memory, weights and data
  Sampling sampling;
  StoppingRule rule;
  int64_t cores = 0;                 // cores whose stolen time is counted; 0 if unknown
  MachineState before;               // machine counters before the first step
  std::vector<MachineState> states;  // machine counters after each step
  // Before the first step, after the last, and in between at most every kSensorInterval; empty if the device has none.
  std::vector<SensorReading> sensors;
  std::vector<ClassTimes> classes;  // seconds of each step whose launches were timed, from step `first_classed` on
  size_t first_classed = 0;
  std::optional<StepTrace> trace;  // trace of the traced steps, if requested
  int64_t traced_steps = 0;
  int64_t untaken_traced_steps = 0;  // traced steps that were not run because of a signal
  std::string_view interrupted_by = "a signal";
  std::vector<LaunchCost> costs;  // from samples and traced steps with launch times; device and date are empty
  ReachedProducts products;
  LossScalingUse loss_scaling;
  std::optional<int64_t> denormals;  // denormal weights and optimizer states at the end; none without a slowdown
  // Loss of each step, up to the first that is not finite; empty if nothing is computed or the model has no loss.
  std::vector<double> losses;
  bool finite = true;  // true if all losses are finite or, without losses, all outputs of the last step
  std::optional<Executor::NanSite> first_nan;
  std::optional<int64_t> base_rss_bytes;  // resident memory before the plan's memory is allocated
  int64_t peak_bytes = 0;                 // peak device memory in use
  int64_t requested_bytes = 0;            // peak bytes requested by tensors
  int64_t reserved_bytes = 0;             // peak device memory reserved for tensors
  std::optional<int64_t> peak_rss_bytes;  // peak resident memory; none for a device that computes nothing
  MeasuredLimits limits;

  bool is_classed(size_t step) const { return step >= first_classed && step - first_classed < classes.size(); }
  bool interrupted() const { return sampling.interrupted || untaken_traced_steps > 0; }
};

// Change of the machine counters over steps [begin, end), which must not be empty.
inline MachineState counter_change(const Measurement& run, size_t begin, size_t end) {
  return change(begin == 0 ? run.before : run.states[begin - 1], run.states[end - 1]);
}

// The time over which counter_change counts. It includes the pause before each step but the first of the run, because
// counters are read when a step ends.
inline Seconds counted_time(const Measurement& run, size_t begin, size_t end) {
  const std::vector<Timeline>& steps = run.sampling.steps;
  return steps[end - 1].end - (begin == 0 ? steps[0].begin : steps[begin - 1].end);
}

// The number of threads that share the stolen and the throttled time, if each rank has `threads`. These counters cover
// all ranks on this machine, and threads beyond its cores share cores. Waiting time is counted for one process.
inline int64_t counted_threads(const Measurement& run, int64_t threads, int64_t ranks) {
  return run.cores > 0 ? std::min(threads * ranks, run.cores) : threads * ranks;
}

}  // namespace laptime
