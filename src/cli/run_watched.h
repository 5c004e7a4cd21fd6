// run_watched: runs a sweep with its progress shown, and hands its results to the output of the command.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "config/sweep.h"
#include "sweep/run_sweep.h"

namespace laptime {

// Receives the results of the points of a command.
class PointOutput {
 public:
  PointOutput() = default;
  PointOutput(const PointOutput&) = delete;
  PointOutput& operator=(const PointOutput&) = delete;
  virtual ~PointOutput() = default;

  virtual void add(const PointResult& result) = 0;  // OutputLost
  // The next result is this record of the store, which the command did not measure itself.
  virtual void begin_stored(const Record& record) { static_cast<void>(record); }
  virtual void finish() = 0;  // called after the last point; may throw OutputLost
  // Whether the remaining points are not needed; asked before each of them.
  virtual bool has_enough() const { return false; }
  // Whether the command itself says what will run.
  virtual bool is_announced() const { return false; }
  // Text for standard error when a point has finished, where standard output shows nothing yet; may be empty.
  virtual std::string progress(const PointResult& result) {
    static_cast<void>(result);
    return {};
  }
};

// The store of a command that runs points: that of the user unless --store names another; none if records are not kept.
std::optional<std::filesystem::path> store_for(const OutputConfig& config);

// The records of points that have not run yet.
std::vector<Record> planned_records(const std::vector<ResolvedPoint>& points);

// Runs the points, which must have passed check_inputs, and returns the exit code of the command. Throws OutputLost.
ExitCode run_watched(const std::vector<ResolvedPoint>& points, const SweepOptions& options, PointOutput& output);

// Runs the points of a sweep into its store; of each, the launches of `traced_steps` are timed beside its samples.
ExitCode run_watched(const std::vector<ResolvedPoint>& points, const Sweep& sweep, int64_t traced_steps,
                     PointOutput& output);

}  // namespace laptime
