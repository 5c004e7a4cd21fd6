// run_launched: runs the points of a sweep through a launcher, several at a time.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "base/units.h"
#include "measure/run_one.h"
#include "record/record.h"
#include "sweep/launch_messages.h"
#include "sweep/stop_signals.h"

namespace laptime {

// A command that runs its arguments on some machine, and the program that it runs there.
struct Launcher {
  std::vector<std::string> words;  // for example "srun", "--nodes=1", ...
  std::string program;             // path of laptime, the same on every machine
  size_t jobs = 1;                 // number of points that run at once
};

// Throws Error with advice unless the launcher runs this build of the program and forwards its input and output. Starts
// a process through the launcher and waits for it. Returns at once if a signal arrives.
void probe_launcher(const Launcher& launcher, StopSignals& signals);

// True for a status that another run of the point would get, too.
inline bool is_settled(Status status) {
  return status == Status::kOk || status == Status::kOutOfMemory || status == Status::kUnsupported;
}

struct PlacedPoint {
  PointResult result;
  Seconds placement;  // time from the start of the last attempt until its process could begin
};

struct LaunchCallbacks {
  std::function<PointRequest(size_t index)> request;
  std::function<Seconds(size_t index)> timeout;
  std::function<PointResult(size_t index)> lost;  // returns the result for a lost point, without a reason
  std::function<MachineKnowledge(const std::string& device)> known;
  std::function<void(size_t index)> begin;
  // Called only for the running point that began first.
  std::function<void(size_t index, const PointProgress&, Seconds elapsed)> progress;
  std::function<void(size_t index, const std::string& reason)> again;  // called before a retry
  std::function<void(size_t index, const PlacedPoint&, Seconds elapsed)> finished;
};

// Runs the points in order, `launcher.jobs` at a time, or as many as the limits on files and processes allow. A point
// without a result, or with status timeout, failed or interrupted, is retried once after all others have started; if
// the retry has no result, the first one counts. After the first stop signal, no more points start, and
// running points are asked for their samples so far; the second signal ends them.
void run_launched(const Launcher& launcher, const std::vector<size_t>& points, StopSignals& signals,
                  const LaunchCallbacks& callbacks);

}  // namespace laptime
