// Progress lines and their control codes, rounded estimates, and the summary of an interrupted sweep.
#include "cli/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/words.h"
#include "cli/inputs.h"
#include "measure/describe.h"
#include "record/store.h"
#include "report/names.h"
#include "sweep/sweep_store.h"
#include "table/text.h"

namespace laptime {

std::string rough_time(Seconds time) {
  constexpr double kSecondsInMinute = 60;
  constexpr double kSecondsInHour = 3600;
  const double seconds = time.count();
  if (seconds < 2 * kSecondsInMinute) return fmt::format("{:.0f} s", std::ceil(seconds));
  if (seconds < 2 * kSecondsInHour) return fmt::format("{:.0f} min", seconds / kSecondsInMinute);
  return fmt::format("{:.1f} h", seconds / kSecondsInHour);
}

std::vector<std::string> spoken_points(const std::vector<ResolvedPoint>& points) {
  const std::string common = common_words(points, [](const ResolvedPoint& point) { return point.name; });
  return mapped(points, [&](const ResolvedPoint& point) { return spoken_name(point.name, common); });
}

std::string progress_text(size_t point, size_t points, std::string_view name, const PointProgress& progress,
                          std::optional<Seconds> left) {
  std::string text = fmt::format("[{}/{}] {}: ", point + 1, points, name);
  text += progress.stage;
  if (progress.done > 0) {
    text += fmt::format(", step {}", progress.done);
    if (progress.expected > 0) text += fmt::format(" of {}", progress.expected);
    text += fmt::format(", {} each", format_seconds(progress.step_seconds));
  }
  if (left) text += fmt::format(", about {} left", rough_time(*left));
  return text;
}

// Shortens the point's name, between "[1/2] " and ": ", to fit a narrow terminal.
std::string ProgressLine::fitted(const std::string& text, size_t room) {
  if (text.size() <= room) return text;
  constexpr std::string_view kGap = "...";
  const size_t begin = text.find("] ");
  const size_t end = text.find(": ", begin);
  if (begin == std::string::npos || end == std::string::npos) return text.substr(0, room);
  const size_t name = begin + 2;
  const size_t excess = text.size() - room + kGap.size();
  const size_t kept = end - name > excess ? end - name - excess : 0;
  return (text.substr(0, name + kept) + std::string(kGap) + text.substr(end)).substr(0, room);
}

void ProgressLine::show(size_t point, const std::string& text, Seconds now) {
  const std::string safe = printable(text, /*ascii=*/true);  // one byte per column, so it can be cut anywhere
  if (stream_.is_terminal) {
    const size_t room = stream_.width > 1 ? stream_.width - 1 : safe.size();
    write_softly(stream_.descriptor, std::string(kErase) + fitted(safe, room));
    visible_ = true;
    return;
  }
  if (shown_point_ == point && now - shown_ < kPlainInterval) return;
  shown_point_ = point;
  shown_ = now;
  write_softly(stream_.descriptor, safe + "\n");
}

void ProgressLine::clear() {
  if (visible_) write_softly(stream_.descriptor, kErase);
  visible_ = false;
}

void PlanningLine::show(size_t point, const char* stage, Seconds taken) {
  constexpr Seconds kSilent{1};
  if (!stream_.is_terminal && taken < kSilent) return;
  line_.show(point, progress_text(point, names_.size(), names_[point], {.stage = stage}, {}), taken);
}

ExitCode planning_exit(const PlannedCount& planned, std::span<const ResolvedPoint> points) {
  if (planned.points < points.size() || StopSignals::requested()) {
    print_message(fmt::format("interrupted: {} of {} planned", planned.points, counted(points.size(), "point")));
    return ExitCode::kInterrupted;
  }
  return any_can_run(points) && !planned.any_failed ? ExitCode::kOk : ExitCode::kFailed;
}

std::string announcement(const std::vector<ResolvedPoint>& points, const std::vector<ExpectedPoint>& expected) {
  Seconds whole{0}, low{0}, high{0};
  size_t stored = 0;
  std::string oldest;  // date of the oldest stored record
  bool is_known = !expected.empty();
  std::vector<std::string> too_large;
  const std::vector<std::string> names = spoken_points(points);
  for (size_t i = 0; i < expected.size(); ++i) {
    is_known = is_known && expected[i].time.has_value();
    const Seconds time = expected[i].time.value_or(Seconds{0});
    const bool is_guess = expected[i].runs() && expected[i].rough.has_value();
    whole += time;
    low += is_guess ? expected[i].rough->first : time;
    high += is_guess ? expected[i].rough->second : time;
    if (const auto& stored_at = expected[i].stored_at) {
      ++stored;
      if (oldest.empty() || *stored_at < oldest) oldest = *stored_at;
    } else if (!expected[i].fits) {
      too_large.push_back(names[i]);
    }
  }
  const bool runs = !is_known || whole.count() > 0;
  const bool says_more = points.size() > 1 || stored > 0;  // otherwise the point's row says the same
  if (!says_more || (!runs && too_large.empty() && stored == 0)) return "";
  std::string text = counted(points.size(), "point");
  if (stored > 0) {
    text += fmt::format(", {} from the store, measured {}{}", stored == points.size() ? "all" : std::to_string(stored),
                        minute_of(oldest), stored > 1 ? " or later" : "");
  }
  if (is_known && runs) text += fmt::format(", about {}", rough_time(whole));
  if (is_known && runs && low < high) text += fmt::format(" ({} to {})", rough_time(low), rough_time(high));
  if (!is_known && !expected.empty()) text += ", duration unknown";
  if (too_large.empty()) return text;
  const size_t named = std::min<size_t>(3, too_large.size());
  text += fmt::format("; too large for memory: {}", joined(std::span(too_large).first(named), ", "));
  return text + (named < too_large.size() ? fmt::format(" and {} more", too_large.size() - named) : "");
}

namespace {

// Prints one line if points run on fewer threads than the machine has and --threads is not given.
void tell_threads(const std::vector<ResolvedPoint>& points) {
  for (const ResolvedPoint& point : points) {
    if (!point.device || point.device->threads_reason.empty()) continue;
    return print_message(fmt::format("{}: {}; --threads sets another number",
                                     counted(point.device->threads.value_or(1), "thread"),
                                     point.device->threads_reason));
  }
}

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
    std::optional<Seconds> of_point;
    if (progress.done > 0 && progress.expected >= progress.done)
      of_point = Seconds{progress.step_seconds * static_cast<double>(progress.expected - progress.done)};
    const bool runs = !points_[index].is_predicted();
    const std::string text =
        progress_text(index, points_.size(), names_[index], runs ? progress : PointProgress{.stage = "predicted"},
                      runs ? left_.estimate(index, of_point, elapsed) : std::nullopt);
    line_.show(index, text, elapsed);
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
    if (source == PointSource::kStored) output_.stored_runs.insert(result.record.run);
    output_.add(result);
  }

  const std::vector<ResolvedPoint>& points_;
  const std::vector<std::string> names_;
  PointOutput& output_;
  TimeLeft left_;
  ProgressLine line_{standard_error()};
  size_t finished_ = 0;       // points with a record
  size_t partial_ = 0;        // interrupted points among the finished ones
  int64_t kept_samples_ = 0;  // samples of the interrupted points
};

// Which finished points are in the store, phrased as the end of a message.
std::string kept_in(const SweepOptions& options, const SweepOutcome& outcome, size_t finished) {
  if (!options.store) return "";
  const std::string lost = outcome.lost == 0 ? "" : fmt::format("{} of {} ", outcome.lost, finished);
  return fmt::format("; {}finished points are {}in the store {}", lost, lost.empty() ? "" : "not ",
                     quote(options.store->string()));
}

// With `plans`, each point is planned here for the announcement; the point's own process plans it again.
std::vector<ExpectedPoint> expected_of(const std::vector<ResolvedPoint>& points, const SweepOptions& options,
                                       bool plans) {
  // An unreadable store counts as empty here; it is reported when the sweep writes to it.
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
    const auto stored = store.reusable(points[i], describe_point(points[i]), options.trace.least_steps());
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
  if (!path && is_default)
    print_message(fmt::format("HOME {}, so records are not kept; name a file with --store",
                              variable("HOME").empty() ? "is not set" : "is not an absolute path"));
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
  return mapped(points, describe_planned);
}

ExitCode run_watched(const std::vector<ResolvedPoint>& points, const SweepOptions& options, PointOutput& output) {
  const bool announces = !output.is_announced;
  // Points that run elsewhere are not planned, because their machines are unknown.
  const std::vector<ExpectedPoint> expected = options.launcher
                                                  ? std::vector<ExpectedPoint>(points.size())
                                                  : expected_of(points, options, announces && points.size() > 1);
  // Predicted points are not announced, because their results appear at once.
  const std::string text = !announces         ? ""
                           : options.launcher ? fmt::format("{}, up to {} at a time through the launcher {}",
                                                            counted(points.size(), "point"), options.launcher->jobs,
                                                            options.launcher->words.front())
                                              : announcement(points, expected);
  if (!text.empty()) print_message(text);
  if (announces) tell_threads(points);
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
  } catch (const Error&) {
    if (watcher.finished() > 0) output.finish();
    throw;
  }
  if (const PlacementTime& placement = outcome.placement; placement.points > 0) {
    print_message(fmt::format("starting {} elsewhere took {}, at most {} per point; no sample includes this time",
                              counted(placement.points, "point"), format_seconds(placement.total.count()),
                              format_seconds(placement.longest.count())));
  }
  if (outcome.lost > 0)
    print_message(fmt::format("{} of {} records could not be stored", outcome.lost, watcher.finished()));
  if (outcome.interrupted) {
    print_message(fmt::format("interrupted: {}{}{}", watcher.account(), kept_in(options, outcome, watcher.finished()),
                              options.store && !output.is_announced ? "; continue with --resume" : ""));
    return ExitCode::kInterrupted;
  }
  return outcome.failed || outcome.lost > 0 ? ExitCode::kFailed : ExitCode::kOk;
}

ExitCode run_watched(const std::vector<ResolvedPoint>& points, const Sweep& sweep, int64_t traced_steps,
                     PointOutput& output, const RankPipes& ranks) {
  return run_watched(points,
                     {.store = store_for(sweep.output),
                      .resume = sweep.output.resume,
                      .name = sweep.name,
                      .trace = {.wanted = true, .traced_steps = traced_steps},
                      .ranks = ranks},
                     output);
}

}  // namespace laptime
