// run_sweep: runs every point of a sweep in its own process, and stores each result as soon as the point ends.
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
#include "sweep/launched_sweep.h"
#include "sweep/measured_point.h"
#include "sweep/rank_process.h"

namespace laptime {

// Compares the losses if binary, machine, configuration (including the content of its files), math mode and kernel
// choices are equal. If a loss differs in any bit, the record of `result` gets the status `failed` and states the step
// and both losses, and the result drops its times (clear_timing).
void require_same_loss(const Record& earlier, PointResult& result);

struct SweepOptions {
  std::optional<std::filesystem::path> store;  // none: do not store results
  bool resume = false;                         // take finished points from the store
  std::string name;                            // Sweep::name; may be empty
  bool is_part_of_supported = false;           // of a sweep with supported points; may have none itself
  TraceRequest trace{};                        // what to trace for every point, in addition to samples
  bool keeps_traces = true;                    // store traces with the records
  std::optional<Launcher> launcher{};          // runs points on other machines; none: points run on this machine
  RankPipes ranks{};                           // processes that are already running, for points with ranks
};

// How a point got its record: measured, refused as invalid, or taken from the store.
enum class PointSource : uint8_t { kMeasured, kInvalid, kStored };

// Optional callbacks. An exception from a callback ends the sweep and is reported in the sweep's outcome.
struct SweepCallbacks {
  std::function<void(size_t index)> begin;  // called before a point is measured or awaited from another program
  std::function<void(size_t index, const PointProgress&, Seconds elapsed)> progress;
  std::function<void(size_t index, const PointResult&, PointSource, Seconds elapsed)>
      finished;                  // called after the attempt to store the record
  std::function<bool()> enough;  // called before each point on this machine; true skips the remaining points
  std::function<void(std::string_view text)> output;        // receives text printed by a point's process
  std::function<void(const std::string& message)> warning;  // called if the store fails or a launched point is retried
};

// The time between launching a point and the moment when its process is ready. Samples do not include this time.
struct PlacementTime {
  size_t points = 0;
  Seconds total{}, longest{};
};

struct SweepOutcome {
  bool interrupted = false;  // ended by a stop signal; the remaining points have no record
  bool failed = false;       // a point failed, timed out or was interrupted, or no point is supported
  size_t lost = 0;           // records that are not in the store
  PlacementTime placement{};
  std::exception_ptr ended_by;
};

// The points must have passed check_inputs. Throws Error before anything runs if the store is not writable, and if a
// measured point has another number of ranks than the processes that the user's mpirun or srun has started. If a
// launcher does not work (probe_launcher), no point is launched and the error is in `ended_by`. If the store fails
// later, the callbacks still get every record. Results of launched points are stored as they arrive, and reported in
// the order of the sweep. The calling process must have a single thread.
SweepOutcome run_sweep(std::span<const ResolvedPoint> points, const SweepOptions& options,
                       const SweepCallbacks& callbacks = {});

}  // namespace laptime
