// RecordedSteps: steps that another program runs and times, measured with bench's stopping rule and turned into a
// record.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/machine_state.h"
#include "config/run_config.h"
#include "config/system_config.h"
#include "exec/sampling.h"
#include "measure/measurement.h"
#include "measure/run_one.h"
#include "measure/step_line.h"
#include "points/resolve.h"
#include "prepare/device.h"
#include "prepare/knowledge.h"

namespace laptime {

// The steps as described by the options of laptime record.
struct RecordedPoint {
  RunConfig config;              // resolved; describes the model only if `knows_model`
  bool knows_model = false;      // the model is given by --model, with batch and context
  std::optional<Device> device;  // device of the steps, for its measured peak; none if the steps ran elsewhere
  std::string name;              // "step/model:small/ctx:256/dtype:float32/batch:4/system:pytorch"
  std::string version;           // "pytorch 2.15.0"
  JsonObject stated;             // the config of the record, with null for every unknown option
};

// True if the option applies to steps that laptime does not run: options of model, pass, mode, number type,
// micro-batches, device, threads and sampling.
bool describes_recorded_steps(std::string_view flag);

// Throws Error for options that contradict each other or leave the point unclear: a missing system, a model without
// batch or context, dimensions or tokens combined with the wrong options, a device that only predicts.
RecordedPoint recorded_point(const std::vector<GivenOption>& given, const SystemConfig& system);

// Takes the steps one at a time. If steps state when they began, they are assumed to run now on this machine, so the
// machine's counters are read after each step, and show what changed since the end of the first. Otherwise they may
// have run anywhere, and are taken to follow one another without a pause.
class RecordedSteps {
 public:
  explicit RecordedSteps(const RecordedPoint& point, MachineCounters counters = MachineCounters());

  // Throws Error and adds nothing if the line contradicts earlier ones.
  void add(const StepLine& line);

  int64_t count() const { return static_cast<int64_t>(ends_.size()); }
  bool is_done() const;          // true if no further step is needed
  std::string progress() const;  // "sample 3, step 8" for the last step, or why no further step is needed

  // The results of the steps. `interrupted_by` names what ended the steps early, or is empty. Requires at least one
  // step.
  Measurement finish(std::string_view interrupted_by) &&;
  // The phases that every step has, and the highest memory use that a line states.
  const std::vector<Phase>& phases() const { return phases_; }
  const std::vector<std::string>& own_phases() const { return own_phases_; }
  const MemoryUse& memory() const { return memory_; }

 private:
  void begin_series(const StepLine& first);
  void check_fits(const StepLine& line) const;
  Seconds begin_of(const StepLine& line) const;

  Pass pass_;
  bool fixed_;
  MachineCounters counters_;
  Measurement run_;
  std::optional<SampleSeries> series_;  // set from the first step on
  std::set<std::string> keys_;          // keys that every line has
  std::vector<Phase> phases_;
  std::vector<std::string> own_phases_;
  MemoryUse memory_;
  std::vector<Seconds> ends_;  // ends of the steps, relative to the start of the first
  bool begins_ = false;        // true if every line states when its step began
  int64_t first_begin_ = 0;    // ns
};

// A record of the point without measurements.
Record describe_recorded(const RecordedPoint& point);

// Adds the results of the steps to `described`, and compares the rate of a known model with the device's peak, which is
// measured unless known. Nothing else is learned from another program's steps.
PointResult recorded_result(const RecordedPoint& point, Record described, RecordedSteps steps,
                            std::string_view interrupted_by, const MachineKnowledge& known);

}  // namespace laptime
