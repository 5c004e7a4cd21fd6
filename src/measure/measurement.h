// Measurement: everything that the run of one prepared point has shown.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "exec/executor.h"
#include "exec/sampler.h"
#include "record/machine_state.h"
#include "record/record.h"

namespace laptime {

// Limits of the device as measured, now or earlier.
struct MeasuredLimits {
  std::optional<double> product_flops;  // FLOP/s; none for a device that computes nothing
  double page_fault = 0;                // seconds; 0 where it was not measured
};

struct Measurement {
  SetupTimes setup;  // of memory, weights and data
  Sampling sampling;
  StoppingRule rule;
  MachineState before;               // counters of the machine before the first step
  std::vector<MachineState> states;  // and after each step
  std::vector<double> losses;        // of each step; empty where nothing is computed or there is no loss
  bool finite = true;                // every loss and, where there is none, every output of the last step
  std::optional<Executor::NanSite> first_nan;
  std::optional<int64_t> base_rss_bytes;  // of the process before it took the plan's memory
  int64_t peak_bytes = 0;                 // held of the device's memory
  std::optional<int64_t> peak_rss_bytes;  // of the process; none for a device that computes nothing
  MeasuredLimits limits;
};

}  // namespace laptime
