// run_sweep: every point of a sweep in a process of its own, each result kept before the next point starts.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/units.h"
#include "measure/run_one.h"
#include "points/expand.h"
#include "record/record.h"

namespace laptime {

struct SweepOptions {
  std::optional<std::filesystem::path> store;  // none: nothing outlives the command
  bool resume = false;                         // finished points are taken from the store
  std::string name;                            // of the run description; may be empty
};

// How a point came to its record.
enum class PointSource : uint8_t { kMeasured, kInvalid, kStored };

// What a watcher is told; all of them optional. An exception from one ends the sweep.
struct SweepCallbacks {
  std::function<void(size_t index)> begin;  // a point is about to be measured
  std::function<void(size_t index, const PointProgress&, Seconds elapsed)> progress;
  std::function<void(size_t index, const Record&, PointSource, Seconds elapsed)> finished;  // kept, if it can be
  std::function<void(std::string_view text)> output;        // what the process of a point printed
  std::function<void(const std::string& message)> warning;  // the store has failed
};

struct SweepOutcome {
  bool interrupted = false;  // by Ctrl-C or SIGTERM; the points after it have no record
  bool failed = false;       // a point failed, timed out or was interrupted
  size_t lost = 0;           // records that the store has not taken
};

// The points have passed check_inputs. Error before anything has run: a store that cannot be written. A store that
// fails later costs no record its place in the callbacks. The caller must have a single thread.
SweepOutcome run_sweep(std::span<const SweepPoint> points, const SweepOptions& options,
                       const SweepCallbacks& callbacks = {});

}  // namespace laptime
