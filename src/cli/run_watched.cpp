// The progress line, warnings and the account of an interrupted sweep.
#include "cli/run_watched.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/words.h"
#include "cli/destination.h"
#include "cli/progress.h"
#include "cli/user_store.h"
#include "measure/describe.h"
#include "prepare/device.h"
#include "record/store.h"
#include "sweep/sweep_store.h"

namespace laptime {
namespace {

// Shows a sweep while it runs.
class Watcher {
 public:
  Watcher(const std::vector<ResolvedPoint>& points, PointOutput& output, TimeLeft left)
      : points_(points), names_(spoken_points(points)), output_(output), left_(std::move(left)) {}

  SweepCallbacks callbacks() {
    return {.begin = [this](size_t index) { show(index, {.stage = "starting"}, Seconds()); },
            .progress = [this](size_t index, const PointProgress& progress,
                               Seconds elapsed) { show(index, progress, elapsed); },
            .finished = [this](size_t index, const PointResult& result, PointSource source,
                               Seconds elapsed) { finish(index, result, source, elapsed); },
            .enough = [this] { return output_.has_enough(); },
            .output =
                [this](std::string_view text) {
                  line_.clear();
                  print_error_text(text);
                },
            .warning =
                [this](const std::string& message) {
                  line_.clear();
                  print_message(message);
                }};
  }

  void clear_line() { line_.clear(); }
  size_t finished() const { return finished_; }

  // "3 of 8 points are finished, 1 is partial (12 samples kept)".
  std::string account() const {
    std::string text = fmt::format("{} of {} {} finished", finished_ - partial_, points_.size(),
                                   points_.size() == 1 ? "point is" : "points are");
    if (partial_ == 0) return text;
    return text + fmt::format(", {} partial ({} kept)", partial_ == 1 ? "1 is" : fmt::format("{} are", partial_),
                              kept_samples_ == 0 ? "no sample" : counted(kept_samples_, "sample"));
  }

 private:
  void show(size_t index, const PointProgress& progress, Seconds elapsed) {
    if (points_[index].is_predicted()) {  // it has none of the stages of a run
      line_.show(index, progress_text(index, points_.size(), names_[index], {.stage = "predicted"}, {}), elapsed);
      return;
    }
    std::optional<Seconds> of_point;
    if (progress.done > 0 && progress.expected >= progress.done)
      of_point = Seconds{progress.step_seconds * static_cast<double>(progress.expected - progress.done)};
    line_.show(index,
               progress_text(index, points_.size(), names_[index], progress, left_.estimate(index, of_point, elapsed)),
               elapsed);
  }

  void finish(size_t index, const PointResult& result, PointSource source, Seconds elapsed) {
    const bool was_timed = source == PointSource::kMeasured && result.record.status == Status::kOk;
    was_timed ? left_.finished(index, elapsed) : left_.skipped(index);
    ++finished_;
    if (result.record.status == Status::kInterrupted) {
      ++partial_;
      const TimeStats* const time = result.record.main_time();
      kept_samples_ += time == nullptr ? 0 : time->count;
    }
    line_.clear();
    if (source == PointSource::kStored) output_.begin_stored(result.record);
    if (const std::string text = output_.progress(result); !text.empty()) print_error_text(text);
    output_.add(result);
  }

  const std::vector<ResolvedPoint>& points_;
  const std::vector<std::string> names_;
  PointOutput& output_;
  TimeLeft left_;
  ProgressLine line_{standard_error()};
  size_t finished_ = 0;       // points with a record
  size_t partial_ = 0;        // of these, the interrupted ones
  int64_t kept_samples_ = 0;  // of those
};

// Which finished points can be found in the store, as the end of a message.
std::string kept_in(const SweepOptions& options, const SweepOutcome& outcome, size_t finished) {
  if (!options.store) return "";
  const std::string store = quote(options.store->string());
  if (outcome.lost == 0) return fmt::format("; finished points are in the store {}", store);
  return fmt::format("; {} of {} finished points are not in the store {}", outcome.lost, finished, store);
}

// With `plans` each point is planned here for the announcement; the process of the point plans it again.
std::vector<ExpectedPoint> expected_of(const std::vector<ResolvedPoint>& points, const SweepOptions& options,
                                       bool plans) {
  // A store that cannot be read is reported when the sweep writes to it.
  const KnowledgeOf knowledge = [read = knowledge_in(options.store)](const std::string& device) -> MachineKnowledge {
    try {
      return read(device);
    } catch (const Error&) {
      return {};
    }
  };
  PlanningLine line(standard_error(), spoken_points(points));
  std::vector<ExpectedPoint> expected(points.size());
  if (plans) expected = expected_points(points, knowledge, [&](size_t i) { line.show(i, "plan"); });
  if (!options.resume) return expected;
  const SweepStore store(options.store);
  for (size_t i = 0; i < expected.size(); ++i) {
    if (!points[i].invalid.empty()) continue;
    const auto stored = store.finished(describe_point(points[i]), options.trace.least_steps());
    if (!stored) continue;
    expected[i].stored_at = stored->record.created;
    expected[i].time = Seconds{0};
  }
  return expected;
}

}  // namespace

std::optional<std::filesystem::path> store_for(const OutputConfig& config) {
  std::optional<std::filesystem::path> path = store_path(config.store);
  const bool is_default = config.store.empty();
  if (!path && is_default) print_message("HOME is not set, so records are not kept; name a file with --store");
  if (!path) return path;
  try {
    std::error_code error;
    if (is_default) std::filesystem::create_directories(path->parent_path(), error);
    if (error) {
      throw StoreUnavailable(fmt::format("store '{}': cannot make its folder ({}); name a file with --store",
                                         path->string(), error.message()));
    }
    Store::open(*path).check_writable();
    return path;
  } catch (const StoreUnavailable& unavailable) {
    if (!is_default && unavailable.has_locks()) throw;
    print_message(fmt::format("records are not kept: {}", unavailable.what()));
    return std::nullopt;
  }
}

std::vector<Record> planned_records(const std::vector<ResolvedPoint>& points) {
  std::vector<Record> records;
  records.reserve(points.size());
  for (const ResolvedPoint& point : points) records.push_back(describe_planned(point));
  return records;
}

ExitCode run_watched(const std::vector<ResolvedPoint>& points, const SweepOptions& options, PointOutput& output) {
  const bool announces = !output.is_announced();
  const std::vector<ExpectedPoint> expected = expected_of(points, options, announces && points.size() > 1);
  // Predicted points are not announced: their results are there at once.
  const std::string text = announces ? announcement(points, expected) : "";
  if (!text.empty()) print_message(text);
  Watcher watcher(points, output, time_left(points, expected));
  const SweepOutcome outcome = run_sweep(points, options, watcher.callbacks());
  watcher.clear_line();
  const auto ended_by = [&](const OutputLost& error) {
    return OutputLost(
        fmt::format("{}; the sweep ends here{}", error.what(), kept_in(options, outcome, watcher.finished())));
  };
  try {
    if (outcome.ended_by) std::rethrow_exception(outcome.ended_by);
    output.finish();
  } catch (const ReaderGone& error) {
    if (watcher.finished() < points.size()) throw ended_by(error);
  } catch (const OutputLost& error) {
    throw ended_by(error);
  }
  if (outcome.lost > 0) {
    print_message(fmt::format("{} of {} records are not in the store", outcome.lost, watcher.finished()));
  }
  if (outcome.interrupted) {
    print_message(fmt::format("interrupted: {}{}{}", watcher.account(), kept_in(options, outcome, watcher.finished()),
                              options.store && !output.is_announced() ? "; continue with --resume" : ""));
    return ExitCode::kInterrupted;
  }
  return outcome.failed || outcome.lost > 0 ? ExitCode::kFailed : ExitCode::kOk;
}

ExitCode run_watched(const std::vector<ResolvedPoint>& points, const Sweep& sweep, int64_t traced_steps,
                     PointOutput& output) {
  const TraceRequest trace{.wanted = traced_steps > 0, .traced_steps = traced_steps};
  return run_watched(points, {store_for(sweep.output), sweep.output.resume, sweep.name, trace}, output);
}

}  // namespace laptime
