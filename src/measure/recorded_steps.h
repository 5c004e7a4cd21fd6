// RecordedSteps: steps that another program runs and times, measured by the rule of bench and made into its record.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "exec/sampling.h"
#include "measure/measurement.h"
#include "measure/recorded_point.h"
#include "measure/run_one.h"
#include "measure/step_line.h"
#include "prepare/knowledge.h"

namespace laptime {

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
