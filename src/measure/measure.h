// measure: a prepared point run on its device until its samples are taken.
#pragma once

#include <functional>
#include <string>

#include "backend/backend.h"
#include "base/key.h"
#include "measure/measurement.h"
#include "prepare/prepare.h"

namespace laptime {

// Where a point is, for the line of progress.
struct PointProgress {
  std::string stage;        // "plan", "weights", "kernel trial", "warm-up", "steps"
  int64_t done = 0;         // steps so far, warm-up included
  int64_t expected = 0;     // all steps; 0: not known
  double step_seconds = 0;  // of the last one

  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("stage", self.stage);
    visit("done", self.done);
    visit("expected", self.expected);
    visit(Key{"step_seconds", Unit::kSeconds}, self.step_seconds);
  }
};

struct PointHooks {
  std::function<void(const PointProgress&)> progress;
  std::function<void(const Record&)> planned;  // what is known before any memory is taken
  std::function<bool()> interrupted;           // asked between steps; true: the point ends as `interrupted`
};

// Takes the plan's memory, fills it and runs steps until the configuration's rule is met, a loss is not finite or the
// run is interrupted. Throws Error for memory that is refused, or weights and data that cannot be read. `limits` is
// left to the caller: they are measured only for a run that succeeds.
Measurement measure(const Prepared& prepared, Backend& backend, const PointHooks& hooks);

}  // namespace laptime
