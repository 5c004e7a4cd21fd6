// What was measured, as the figures of a record.
#pragma once

#include <vector>

#include "config/run_config.h"
#include "exec/sampler.h"
#include "measure/run_one.h"
#include "plan/plan.h"
#include "prepare/device.h"
#include "record/machine_state.h"
#include "record/record.h"

namespace laptime {

// Counters of the machine around every step.
struct Observed {
  MachineState before;               // the first step
  std::vector<MachineState> states;  // after each step
};

// Fills times, phases, rates, verdict, stopping, transient and kernels. record.loss, setup and memory are there
// already.
void fill_record(const RunConfig& config, const Device& device, const Plan& plan, const Sampling& sampling,
                 const StoppingRule& rule, const Observed& observed, const MachineKnowledge& known,
                 const MachineKnowledge& learned, Record& record);

}  // namespace laptime
