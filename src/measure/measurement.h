// Measurement: the results of running one prepared point.
#pragma once

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

// Measured limits of the device.
struct MeasuredLimits {
  std::optional<double> product_flops;   // FLOP/s; none for a device that computes nothing
  std::string product_flops_at;          // date of an earlier measurement; empty where it was measured for this run
  bool product_flops_estimated = false;  // from one core, because the threads did not run together
  std::optional<double> bandwidth;       // bytes/s of device memory; none if not measured
  double page_fault = 0;                 // seconds; 0 if not measured
};

// Seconds of the launches of one step, by phase and class.
using ClassTimes = std::array<std::array<double, kWorkClassCount>, kPhaseCount>;

// The fastest matrix product of a run.
struct ReachedProducts {
  ProductMath math = ProductMath::kNone;  // that its kernel claims
  double flops_per_second = 0;            // 0: no product was timed
};

struct Measurement {
  SetupTimes setup;  // memory, weights and data only
  Sampling sampling;
  StoppingRule rule;
  MachineState before;               // machine counters before the first step
  std::vector<MachineState> states;  // machine counters after each step
  std::vector<Sensors> sensors;      // before the first step and after each; empty if the device has none
  std::vector<ClassTimes> classes;   // of the steps whose launches were marked, from `first_classed` on
  size_t first_classed = 0;
  std::optional<StepTrace> trace;  // of traced steps, if they were asked for
  int64_t traced_steps = 0;
  int64_t untaken_traced_steps = 0;  // that a signal prevented
  std::string_view interrupted_by = "a signal";
  std::vector<LaunchCost> costs;  // of the marked steps among samples and traced steps; device and date are empty
  ReachedProducts products;
  LossScalingUse loss_scaling;
  std::optional<int64_t> denormals;  // in weights and states after the last step; counted where steps became slower
  std::vector<double> losses;        // loss of each step; empty if nothing is computed or the model has no loss
  bool finite = true;                // every loss is finite; without losses, every output of the last step
  std::optional<Executor::NanSite> first_nan;
  std::optional<int64_t> base_rss_bytes;  // of the process, before allocating the plan's memory
  int64_t peak_bytes = 0;                 // most device memory held at once
  int64_t requested_bytes = 0;            // most that tensors asked for at once
  int64_t reserved_bytes = 0;             // most of the device's memory that was taken for them
  std::optional<int64_t> peak_rss_bytes;  // of the process; none for a device that computes nothing
  MeasuredLimits limits;

  bool is_classed(size_t step) const { return step >= first_classed && step - first_classed < classes.size(); }
  bool interrupted() const { return sampling.interrupted || untaken_traced_steps > 0; }
};

// Change of the machine counters over steps [begin, end), which are not empty.
inline MachineState counter_change(const Measurement& run, size_t begin, size_t end) {
  return change(begin == 0 ? run.before : run.states[begin - 1], run.states[end - 1]);
}

}  // namespace laptime
