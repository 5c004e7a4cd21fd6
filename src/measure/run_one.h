// run_one: one point of a sweep, from its configuration to its record, in this process.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "config/sweep.h"
#include "record/record.h"
#include "record/store.h"

namespace laptime {

// What earlier points have learned of this machine, and what this one adds to it.
struct MachineKnowledge {
  std::vector<KernelChoice> kernel_choices;  // of this machine's fingerprint
  std::vector<MeasuredPeak> peaks;
};

// Where a point is, for the line of progress.
struct PointProgress {
  std::string stage;        // "plan", "weights", "kernel trial", "warm-up", "steps"
  int64_t done = 0;         // steps so far, warm-up included
  int64_t expected = 0;     // all steps; 0: not known
  double step_seconds = 0;  // of the last one
};

struct PointHooks {
  std::function<void(const PointProgress&)> progress;
  std::function<void(const Record&)> planned;  // what is known before any memory is taken
  std::function<bool()> interrupted;           // asked between steps; true: the point ends as `interrupted`
};

struct PointResult {
  Record record;
  MachineKnowledge learned;
};

// Never throws for what a point can do wrong: the record carries status and reason. Memory is predicted before it is
// taken. `name`, `label`, `config`, `config_hash`, `machine`, `fingerprint`, `binary` and `created` are always filled;
// `sweep` and `run` are the caller's.
PointResult run_one(const SweepPoint& point, const MachineKnowledge& known, const PointHooks& hooks = {});

// A record for a point that has no figures: everything that is known without running it.
Record describe_point(const SweepPoint& point);

}  // namespace laptime
