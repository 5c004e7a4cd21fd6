// Running a sweep with its progress shown and its records written.
#include "cli/commands/bench.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <utility>

#include "base/available_memory.h"
#include "base/error.h"
#include "base/words.h"
#include "cli/message.h"
#include "cli/progress.h"
#include "cli/record_output.h"
#include "cli/store_path.h"
#include "cli/sweep_words.h"
#include "measure/describe.h"
#include "model/model_card.h"
#include "model/parameters.h"
#include "prepare/device.h"
#include "report/shortage.h"
#include "sweep/ablation.h"
#include "sweep/check_inputs.h"
#include "sweep/run_sweep.h"

namespace laptime {
namespace {

// The summary of each model of a sweep, made once.
class Summaries {
 public:
  const ModelSummary& of(const ModelConfig& model) {
    const auto found = std::find_if(made_.begin(), made_.end(), [&](const auto& one) { return one.first == model; });
    if (found != made_.end()) return found->second;
    return made_.emplace_back(model, summarize(model)).second;
  }

 private:
  std::deque<std::pair<ModelConfig, ModelSummary>> made_;
};

// An estimate of what a point costs, in any unit: the FLOPs of its steps.
double cost_of(const SweepPoint& point, Summaries& summaries) {
  const RunConfig& config = point.config;
  if (!point.invalid.empty() || !unsupported_reason(config).empty()) return 0;
  const bool forward_only = config.pass == Pass::kForward || config.pass == Pass::kInference;
  constexpr double kPredicted = 1e9;  // a predicted step takes the same time for any model
  if (!find_device(config).computes) return kPredicted;
  const ModelSummary& summary = summaries.of(config.step_model());
  const auto parameters = static_cast<double>(summary.parameter_count);
  // A point that cannot fit ends at once: weights, gradients, and two moments of the optimizer.
  const double copies = forward_only ? 1 : config.pass == Pass::kStep ? 4 : 2;
  if (parameters * copies * sizeof(float) > static_cast<double>(available_memory().bytes)) return 0;
  constexpr double kStepsByDefault = 30;
  const double steps = config.steps ? static_cast<double>(*config.steps + config.warmup.value_or(0)) : kStepsByDefault;
  constexpr double kSetup = 5;  // plan, weights and kernel trials, in steps
  return static_cast<double>(summary.forward_flops) * (forward_only ? 1 : 3) * (steps + kSetup);
}

std::vector<double> costs_of(const std::vector<SweepPoint>& points) {
  std::vector<double> costs;
  costs.reserve(points.size());
  Summaries summaries;
  for (const SweepPoint& point : points) costs.push_back(cost_of(point, summaries));
  return costs;
}

// Shows a sweep while it runs, and writes its records.
class Watcher {
 public:
  Watcher(const std::vector<SweepPoint>& points, const OutputConfig& config, const std::vector<Record>& planned)
      : points_(points), output_(config, planned), left_(costs_of(points)) {
    if (!output_.is_live_table()) table_.emplace(table_style(error_), config.columns, planned);
  }

  SweepCallbacks callbacks() {
    SweepCallbacks callbacks;
    callbacks.begin = [this](size_t index) { show(index, {.stage = "starting"}, Seconds()); };
    callbacks.progress = [this](size_t index, const PointProgress& progress, Seconds elapsed) {
      show(index, progress, elapsed);
    };
    callbacks.finished = [this](size_t index, const Record& record, PointSource source, Seconds elapsed) {
      finish(index, record, source, elapsed);
    };
    callbacks.output = [this](std::string_view text) {
      line_.clear();
      write_error(text);
    };
    callbacks.warning = [this](const std::string& message) {
      line_.clear();
      print_message(message);
    };
    return callbacks;
  }

  // Writes the formats that come at the end, and what did not fit, in words.
  void end() {
    line_.clear();
    output_.finish();
    if (!output_.shows_table()) write_error(explain_shortage(output_.without_memory()));
  }

  void clear_line() { line_.clear(); }
  size_t finished() const { return finished_; }

 private:
  void show(size_t index, const PointProgress& progress, Seconds elapsed) {
    const double fraction =
        progress.expected > 0 ? static_cast<double>(progress.done) / static_cast<double>(progress.expected) : 0;
    line_.show(
        index,
        progress_text(index, points_.size(), points_[index].name, progress, left_.estimate(index, fraction, elapsed)),
        elapsed);
  }

  void finish(size_t index, const Record& record, PointSource source, Seconds elapsed) {
    const bool was_timed = source == PointSource::kMeasured && record.status == Status::kOk;
    was_timed ? left_.finished(index, elapsed) : left_.skipped(index);
    ++finished_;
    line_.clear();
    if (table_) write_error(table_->add(record));
    output_.add(record);
  }

  void write_error(std::string_view text) const {
    try {
      write_all(error_.descriptor, text, "standard error");
    } catch (const OutputLost&) {
      return;  // nobody watches; the records are written elsewhere
    }
  }

  const std::vector<SweepPoint>& points_;
  Stream error_ = standard_error();
  RecordOutput output_;
  std::optional<TableStream> table_;
  TimeLeft left_;
  ProgressLine line_{error_};
  size_t finished_ = 0;
};

std::optional<std::filesystem::path> store_for(const OutputConfig& config) {
  std::optional<std::filesystem::path> path = store_path(config.store);
  if (!path && config.store.empty()) {
    print_message("HOME is not set, so records are not kept; name a file with --store");
  }
  return path;
}

std::vector<Record> planned_records(const std::vector<SweepPoint>& points) {
  std::vector<Record> records;
  records.reserve(points.size());
  for (const SweepPoint& point : points) records.push_back(describe_point(point));
  return records;
}

// Where finished points can be found, as the end of a message.
std::string kept_in(const SweepOptions& options) {
  return options.store ? fmt::format("; finished points are in the store {}", quote(options.store->string())) : "";
}

SweepOutcome run_watched(const std::vector<SweepPoint>& points, const SweepOptions& options, Watcher& watcher) {
  try {
    const SweepOutcome outcome = run_sweep(points, options, watcher.callbacks());
    watcher.end();
    return outcome;
  } catch (const OutputLost& error) {
    watcher.clear_line();
    throw OutputLost(fmt::format("{}; the sweep ends here{}", error.what(), kept_in(options)));
  }
}

}  // namespace

BenchCommand parse_bench(const CommandWords& words) {
  reject_positionals(words);
  BenchCommand bench{starting_sweep(words, {})};
  set_given(bench.sweep, words);
  return bench;
}

ExitCode run(const BenchCommand& command) {
  OutputConfig config = command.sweep.output;
  if (config.ablate && config.columns == OutputConfig().columns) config.columns += ",gain";
  std::vector<SweepPoint> points = points_of(command.sweep);
  check_inputs(points);
  Watcher watcher(points, config, planned_records(points));
  const SweepOptions options{store_for(config), config.resume, command.sweep.name};
  const SweepOutcome outcome = run_watched(points, options, watcher);
  if (outcome.lost > 0) {
    print_message(fmt::format("{} of {} records are not in the store", outcome.lost, watcher.finished()));
  }
  if (outcome.interrupted) {
    print_message(fmt::format("interrupted: {} of {} points have a record{}{}", watcher.finished(), points.size(),
                              kept_in(options), options.store ? "; continue with --resume" : ""));
    return ExitCode::kInterrupted;
  }
  return outcome.failed || outcome.lost > 0 ? ExitCode::kFailed : ExitCode::kOk;
}

constinit const Command kBench{
    .name = "bench",
    .arguments = "[OPTIONS]",
    .summary = "measure training steps: one row per point of a sweep",
    .details =
        "Options written with ',...' take a list, and the sweep is the product of the lists. Each point runs in a "
        "process of its own and is stored before the next one starts.",
    .options = sweep_options,
    .parse = [](const CommandWords& words) -> CommandAction {
      return [command = parse_bench(words)] { return run(command); };
    },
};

}  // namespace laptime
