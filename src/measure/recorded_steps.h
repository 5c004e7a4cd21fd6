// RecordedSteps: steps that another program runs and times, measured by the rule of bench and made into its record.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
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

// The steps as the options of laptime record describe them.
struct RecordedPoint {
  RunConfig config;              // resolved; says nothing of the model unless it is known
  bool knows_model = false;      // by --model, with batch and context
  std::optional<Device> device;  // whose measured peak the steps are held against; none where they ran elsewhere
  std::string name;              // "step/model:small/ctx:256/dtype:float32/batch:4/system:pytorch"
  std::string version;           // "pytorch 2.15.0"
  JsonObject stated;             // of a record's config: null for every option that nothing is known of
};

// Whether the option of this flag says anything about steps that laptime does not run: those of the model, and of the
// pass, the number type, the machine and the sampling.
bool describes_recorded_steps(std::string_view flag);

// Error for options that contradict each other or leave the point unclear: a system that is not named, a model without
// batch and context, dimensions or tokens beside the wrong options, a device that only predicts.
RecordedPoint recorded_point(const std::vector<GivenOption>& given, const SystemConfig& system);

// Takes the steps one at a time. Steps that say when they began are taken to run now, on this machine: its counters are
// read after each of them. Other steps follow one another without a pause, wherever they ran.
class RecordedSteps {
 public:
  explicit RecordedSteps(const RecordedPoint& point);

  // Error, without having added it, for a line that does not fit the lines before.
  void add(const StepLine& line);

  int64_t count() const { return static_cast<int64_t>(ends_.size()); }
  bool is_done() const;          // no further step is needed
  std::string progress() const;  // what the last step was, or why there need not be another: "sample 3"

  // What the steps showed. `interrupted_by` says what ended them before they were done; empty otherwise.
  // There has been a step.
  Measurement finish(std::string_view interrupted_by) &&;
  // The phases that every step has, and the most memory that a line stated.
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
  std::optional<SampleSeries> series_;  // from the first step on
  std::set<std::string> keys_;          // that every line has
  std::vector<Phase> phases_;
  std::vector<std::string> own_phases_;
  MemoryUse memory_;
  std::vector<Seconds> ends_;  // of the steps, since the first began
  bool begins_ = false;        // every line says when its step began
  int64_t first_begin_ = 0;    // ns
};

// A record of the point without measurements.
Record describe_recorded(const RecordedPoint& point);

// Adds to `described` what the steps showed, and holds the rate of a known model against the peak of the device, which
// is measured unless it is known. Nothing else is learned from steps of another program.
PointResult recorded_result(const RecordedPoint& point, Record described, RecordedSteps steps,
                            std::string_view interrupted_by, const MachineKnowledge& known);

}  // namespace laptime
