// LaunchedSweep: places the points of a sweep by a launcher, several at once.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "base/units.h"
#include "measure/run_one.h"
#include "sweep/launch_messages.h"
#include "sweep/stop_signals.h"

namespace laptime {

// A command that runs its arguments somewhere, and the program that it runs there.
struct Launcher {
  std::vector<std::string> words;  // "srun", "--nodes=1", ...
  std::string program;             // path of laptime, the same on every machine
  size_t jobs = 1;                 // points at once
};

// Error with what to do unless the launcher runs this build of the program and passes its input and output on. Places a
// process and waits for it. Returns at once if a signal arrives.
void probe_launcher(const Launcher& launcher, StopSignals& signals);

struct PlacedPoint {
  PointResult result;
  Seconds placement;  // of the last attempt: until its process could begin
};

struct LaunchCallbacks {
  std::function<PointRequest(size_t index)> request;
  std::function<Seconds(size_t index)> timeout;
  std::function<PointResult(size_t index)> lost;  // the record of a point that has none of its own; its reason is added
  std::function<MachineKnowledge(const std::string& device)> known;
  std::function<void(size_t index)> begin;
  std::function<void(size_t index, const PointProgress&, Seconds elapsed)> progress;  // of the oldest point that runs
  std::function<void(size_t index, const std::string& reason)> again;                 // a point is tried once more
  std::function<void(size_t index, const PlacedPoint&, Seconds elapsed)> finished;
};

// Runs the points in their order, `launcher.jobs` at once. A point without a result, or whose status is timeout, failed
// or interrupted, is tried once more after the others have started. The first stop signal starts no more points and
// asks those that run for their samples so far; the second ends them.
void run_launched(const Launcher& launcher, const std::vector<size_t>& points, StopSignals& signals,
                  const LaunchCallbacks& callbacks);

}  // namespace laptime
