// run_sweep: runs every point of a sweep in its own process, and stores each result before the next point starts.
#pragma once

#include <cstddef>
#include <exception>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/units.h"
#include "measure/run_one.h"
#include "record/record.h"
#include "sweep/rank_process.h"

namespace laptime {

// Compares the records if binary, machine, configuration with the content of its files, and kernel choices are the
// same. If a loss differs in any bit, `record` becomes `failed` with the step and both values, and loses its timing.
void require_same_loss(const Record& earlier, Record& record);

// Removes the measured figures from the record of a run that must not be trusted.
void clear_timing(Record& record);

struct SweepOptions {
  std::optional<std::filesystem::path> store;  // none: results are not stored
  bool resume = false;                         // take finished points from the store
  std::string name;                            // Sweep::name; may be empty
  TraceRequest trace{};                        // what every point traces beside its samples
  bool keeps_traces = true;                    // stores them beside the records
  RankPipes ranks{};                           // that run already, for points with ranks
};

// Where the record of a point comes from.
enum class PointSource : uint8_t { kMeasured, kInvalid, kStored };

// Optional callbacks. An exception from one ends the sweep, and is in its outcome.
struct SweepCallbacks {
  std::function<void(size_t index)> begin;  // before a point is measured
  std::function<void(size_t index, const PointProgress&, Seconds elapsed)> progress;
  std::function<void(size_t index, const PointResult&, PointSource, Seconds elapsed)>
      finished;                                             // after it is stored, if possible
  std::function<bool()> enough;                             // asked before a point; true: the rest is not needed
  std::function<void(std::string_view text)> output;        // text printed by the process of a point
  std::function<void(const std::string& message)> warning;  // writing to the store failed
};

struct SweepOutcome {
  bool interrupted = false;  // by a stop signal; the remaining points have no record
  bool failed = false;       // a point failed, timed out or was interrupted, or no point is supported
  size_t lost = 0;           // records that are not in the store
  std::exception_ptr ended_by;
};

// The points must have passed check_inputs. Error before anything runs if the store is not writable. If the store fails
// later, the callbacks still get every record. The caller must have a single thread.
SweepOutcome run_sweep(std::span<const ResolvedPoint> points, const SweepOptions& options,
                       const SweepCallbacks& callbacks = {});

}  // namespace laptime
