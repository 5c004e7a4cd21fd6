// measure: runs a prepared point on its device and takes samples.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "backend/backend.h"
#include "backend/group.h"
#include "base/key.h"
#include "measure/measurement.h"
#include "prepare/prepare.h"

namespace laptime {

// Times consecutive parts of the set-up on the device's clock.
class LapTimer {
 public:
  explicit LapTimer(Backend& backend) : backend_(backend), last_(backend.now()) {}

  // Seconds since the previous call, or since construction.
  double next() {
    const Seconds now = backend_.now();
    const double seconds = (now - last_).count();
    last_ = now;
    return seconds;
  }

 private:
  Backend& backend_;
  Seconds last_;
};

// The progress of a point, for the progress line.
struct PointProgress {
  std::string stage;        // "plan", "kernel trial", "memory", "weights", "warm-up", "steps", ...
  int64_t done = 0;         // steps so far, including warm-up
  int64_t expected = 0;     // all steps; 0 if unknown
  double step_seconds = 0;  // duration of the last step

  LAPTIME_FIELDS(stage, done, expected, (kSeconds, step_seconds))
};

struct PointHooks {
  std::function<void(const PointProgress&)> progress;
  std::function<void(const Record&)> planned;  // receives the record after each plan, before memory is allocated
  std::function<bool()> interrupted;           // called between samples; true ends the point as `interrupted`
  Group* group = nullptr;                      // the ranks of the point, including this process; null: one rank
};

// A request for traced steps in addition to the samples.
struct TraceRequest {
  bool wanted = false;       // fill Measurement::trace
  int64_t traced_steps = 0;  // number of steps whose launches are timed; they alternate with as many untraced steps

  // The number of traced steps that a stored record must have to replace a run; none if no trace is wanted.
  std::optional<int64_t> least_steps() const { return wanted ? std::optional(traced_steps) : std::nullopt; }
};

// Allocates and fills memory, then runs steps until the stopping rule is met, a loss is not finite or the run is
// interrupted. Throws Error if memory is not available, or if weights or data cannot be read. The caller fills in
// `limits`, because they are measured only after a successful run. `expected_step` is the predicted time of a step, or
// zero without a prediction.
Measurement measure(const Prepared& prepared, Backend& backend, const PointHooks& hooks, const TraceRequest& trace = {},
                    Seconds expected_step = {});

}  // namespace laptime
