// The plan of each point as a ledger of its bytes, held by a run where the point fits.
#include "cli/commands/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/words.h"
#include "cli/grid_output.h"
#include "cli/planning_line.h"
#include "cli/run_watched.h"
#include "cli/store_path.h"
#include "cli/stored_knowledge.h"
#include "cli/sweep_words.h"
#include "cli/used_files.h"
#include "config/machine.h"
#include "config/sweep.h"
#include "measure/forecast_point.h"
#include "report/memory/memory_report.h"
#include "report/memory/peaks.h"
#include "sweep/ablation.h"
#include "sweep/check_inputs.h"

namespace laptime {
namespace {

constexpr int64_t kMemoryWarmup = 1;
constexpr int64_t kMemorySteps = 1;
constexpr int64_t kMemoryTracedSteps = 1;
constexpr double kMaxTop = 1e6;

struct MemoryOptions {
  std::optional<MemoryView> view;
  int64_t top = MemoryQuery().top;
  bool predict = false;

  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    constexpr std::string_view kGroup = "Memory";
    visit(Option{.flag = "view",
                 .key = "view",
                 .group = kGroup,
                 .help = "what is shown of each point; summary: one table of the peaks of all points",
                 .otherwise = "all of a single point, the summary of several",
                 .axis = false},
          self.view);
    visit(Option{.flag = "top",
                 .key = "top",
                 .group = kGroup,
                 .help = "rows of the largest allocations; 0 shows all",
                 .max = kMaxTop,
                 .axis = false},
          self.top);
    visit(Option{.flag = "predict",
                 .key = "predict",
                 .group = kGroup,
                 .help = "run nothing: every point from its plan, also one that fits",
                 .axis = false},
          self.predict);
  }
};

std::vector<OptionRow> memory_options() {
  std::vector<OptionRow> rows = option_rows<MemoryOptions>();
  for (OptionRow& row : sweep_options()) rows.push_back(std::move(row));
  keep_options_of_grids(rows);
  return rows;
}

struct MemoryCommand {
  Sweep sweep;
  MemoryOptions options;
};

// Shows each point when it has finished, and the peaks of all at the end.
class MemoryOutput : public PointOutput {
 public:
  MemoryOutput(const OutputConfig& config, const MemoryOptions& options, size_t points)
      : output_(config),
        peaks_(config.sort),
        query_{MemoryView::kAll, options.top},
        is_single_(points == 1),
        predicts_(options.predict) {
    query_.view = options.view.value_or(is_single_ ? MemoryView::kAll : MemoryView::kSummary);
    if (is_single_ || options.view) return;
    const bool is_resumed = !options.predict && store_path(config.store).has_value();
    more_ = fmt::format("The ledger of each point: the same with --view all{}. A single point shows it anyway.",
                        is_resumed ? " --resume, which runs no point again" : "");
  }

  void add(const PointResult& result) override {
    peaks_.add(result.record, result.trace);
    note_prediction(result.record);
    if (query_.view != MemoryView::kSummary || is_single_) output_.add(report_of(result));
  }

  void finish() override {
    if (!is_single_ || query_.view == MemoryView::kSummary) output_.add(summary());
    output_.finish();
  }

 private:
  PointReport summary() const {
    PointReport report = peaks_.report();
    if (!more_.empty()) report.lines.push_back(more_);
    if (!predict_hint_.empty()) report.lines.push_back(predict_hint_);
    return report;
  }

  // A large point is slow to run, or does not fit at all: its plan says the same without a run.
  void note_prediction(const Record& record) {
    constexpr int64_t kLarge = int64_t{4} << 30;
    const bool is_too_large = record.status == Status::kOutOfMemory;
    const bool is_large = was_held(record) && record.memory.predicted_peak_bytes.value_or(0) >= kLarge;
    const bool computes = !record.config.text("device").starts_with(kMachinePrefix);
    if (predicts_ || !computes || !(is_too_large || (is_large && predict_hint_.empty()))) return;
    predict_hint_ = fmt::format("{}With --predict nothing runs: every point comes from its plan, within seconds.",
                                is_too_large ? "What does not fit is predicted from its plan. " : "");
  }

  PointReport report_of(const PointResult& result) const {
    if (result.trace) {
      PointReport report = memory_report(result.record, *result.trace, query_);
      if (is_single_ && !predict_hint_.empty()) report.lines.push_back(predict_hint_);
      return report;
    }
    const Record& record = result.record;
    return {record.name, {fmt::format("{}: {}", name_of(record.status), record.reason)}, {}};
  }

  GridOutput output_;
  PeakTable peaks_;
  MemoryQuery query_;
  bool is_single_;
  bool predicts_;             // --predict is given
  std::string predict_hint_;  // what --predict would do, where some point is large
  std::string more_;          // how to see more than the summary; empty where it was asked for
};

MemoryCommand parse_memory(const CommandWords& words) {
  reject_positionals(words);
  MemoryOptions options;
  for (const GivenFlag& given : words.flags) assign_given(options, given);
  MemoryCommand memory{starting_sweep(words, {}), options};
  set_given(memory.sweep, words);
  if (!is_swept(memory.sweep, "warmup") && !is_swept(memory.sweep, "steps")) {
    set_option(memory.sweep, "warmup", words.command, {std::to_string(kMemoryWarmup)});
    set_option(memory.sweep, "steps", words.command, {std::to_string(kMemorySteps)});
  }
  return memory;
}

ExitCode predict(const std::vector<SweepPoint>& points, const KnowledgeOf& knowledge, MemoryOutput& output) {
  const size_t planned = plan_each(
      points, [&](const SweepPoint& point) { return forecast_point(point, knowledge); },
      [&](const PointResult& result) { output.add(result); });
  if (planned > 0) output.finish();
  return planning_exit(planned, points.size());
}

ExitCode run(const MemoryCommand& command) {
  const OutputConfig& config = command.sweep.output;
  std::vector<SweepPoint> points = points_of(command.sweep);
  reject_overwriting(command.sweep, points, store_path(config.store));
  check_inputs(points);
  MemoryOutput output(config, command.options, points.size());
  if (command.options.predict) return predict(points, stored_knowledge(config.store), output);
  const TraceRequest trace{.wanted = true, .traced_steps = kMemoryTracedSteps};
  return run_watched(points, {store_for(config), config.resume, command.sweep.name, trace}, output);
}

CommandAction memory_action(const CommandWords& words) {
  return [command = parse_memory(words)] { return run(command); };
}

}  // namespace

constinit const Command kMemory{
    .name = "memory",
    .arguments = "[OPTIONS]",
    .summary = "what the memory of a step is held for: peak by category, saved activations, timeline",
    .details =
        "Takes the options of bench. A point that fits runs a few steps, so that its bytes are held and measured. One "
        "that does not fit, and every point of a device that computes nothing, gives the same tables from its plan, "
        "marked predicted. With --predict every point does: nothing runs, and a model of any size takes seconds. With "
        "--resume stored points are shown again, in another view too, without a run.",
    .options = memory_options,
    .parse = memory_action,
    .examples =
        "  laptime memory --model small --pass forward,step\n"
        "  laptime memory --model small --context 128,256 --view all\n"
        "  laptime memory --model 2.7B --dtype bfloat16 --predict\n",
};

}  // namespace laptime
