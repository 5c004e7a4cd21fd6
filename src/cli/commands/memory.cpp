// The plan of each point as a ledger of its bytes; with --run the bytes are held and measured as well.
#include "cli/commands.h"

#include <fmt/format.h>

#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "cli/answer_output.h"
#include "cli/progress.h"
#include "cli/run_watched.h"
#include "cli/sweep_words.h"
#include "cli/user_store.h"
#include "config/sweep.h"
#include "measure/forecast_point.h"
#include "report/memory_answer.h"
#include "report/names.h"
#include "report/words.h"

namespace laptime {
namespace {

constexpr int64_t kMemoryWarmup = 1;
constexpr int64_t kMemorySteps = 1;
constexpr int64_t kMemoryTracedSteps = 1;
constexpr double kMaxTop = 1e6;

struct MemoryOptions {
  std::optional<MemoryView> view;
  int64_t top = MemoryQuery().top;
  bool run = false;

  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    constexpr std::string_view kGroup = "Memory";
    visit(Option{.flag = "view",
                 .key = "view",
                 .group = kGroup,
                 .help = "what to show of each point; of several points without --view: one table of their peaks",
                 .otherwise = "summary",
                 .axis = false},
          self.view);
    visit(Option{.flag = "top",
                 .key = "top",
                 .group = kGroup,
                 .help = "rows of the largest allocations; 0 shows all",
                 .max = kMaxTop,
                 .axis = false},
          self.top);
    visit(own_option(kGroup, "run",
                     "run a few steps of each point that fits, so that its bytes are held and measured, and store it"),
          self.run);
  }
};

std::vector<OptionRow> memory_options() {
  std::vector<OptionRow> rows = option_rows<MemoryOptions>();
  for (OptionRow& row : sweep_options()) rows.push_back(std::move(row));
  keep_options_of_answers(rows);
  return rows;
}

struct MemoryCommand {
  Sweep sweep;
  MemoryOptions options;
};

// Shows each point when it is known, and the peaks of all at the end.
class MemoryOutput : public PointOutput {
 public:
  MemoryOutput(const OutputConfig& config, const MemoryOptions& options, size_t points)
      : output_(config),
        peaks_(config.sort),
        query_{.view = options.view.value_or(MemoryView::kSummary), .top = options.top, .verbose = config.verbose},
        is_single_(points == 1),
        shows_each_(points == 1 || options.view.has_value()) {
    const bool is_for_people = config.output == OutputFormat::kTable || config.output == OutputFormat::kMarkdown;
    if (!is_for_people && !options.view) query_.view = MemoryView::kAll;  // programs get every table of a single point
    if (!options.view && is_single_) output_.hint("more: --view phases, accounts, saved, largest, timeline, all");
  }

  void add(const PointResult& result) override {
    peaks_.add(result.record, result.trace);
    if (!shows_each_) return;
    PointAnswer answer =
        result.trace ? memory_answer(result.record, *result.trace, query_) : answer_without_result(result.record);
    if (!is_single_) answer.title = spoken_name(result.record.name);
    output_.add(std::move(answer));
  }

  void finish() override {
    if (!is_single_) output_.add(peaks_.answer());
    output_.finish();
  }

 private:
  AnswerOutput output_;
  MemoryPeaks peaks_;
  MemoryQuery query_;
  bool is_single_;
  bool shows_each_;
};

MemoryCommand parse_memory(const CommandWords& words) {
  reject_positionals(words);
  const auto options = given_options<MemoryOptions>(words);
  MemoryCommand memory{given_sweep(words), options};
  if (memory.sweep.output.resume && !options.run)
    throw Error("laptime memory: --resume needs --run; without it every point is planned anew, within seconds");
  if (!is_swept(memory.sweep, "warmup") && !is_swept(memory.sweep, "steps")) {
    set_option(memory.sweep, "warmup", words.command, {std::to_string(kMemoryWarmup)});
    set_option(memory.sweep, "steps", words.command, {std::to_string(kMemorySteps)});
  }
  return memory;
}

ExitCode plan_points(const std::vector<ResolvedPoint>& points, const KnowledgeOf& knowledge, MemoryOutput& output) {
  const size_t planned = plan_each(
      points, [&](const ResolvedPoint& point) { return forecast_point(point, knowledge); },
      [&](const PointResult& result) { output.add(result); });
  if (planned > 0) output.finish();
  return planning_exit(planned, points.size());
}

ExitCode run(const MemoryCommand& command) {
  const OutputConfig& config = command.sweep.output;
  const std::vector<ResolvedPoint> points = checked_points(command.sweep);
  MemoryOutput output(config, command.options, points.size());
  if (!command.options.run) return plan_points(points, stored_knowledge(config.store), output);
  const TraceRequest trace{.wanted = true, .traced_steps = kMemoryTracedSteps};
  return run_watched(points, {store_for(config), config.resume, command.sweep.name, trace}, output);
}

}  // namespace

constinit const Command kMemory{
    .name = "memory",
    .arguments = "[OPTIONS]",
    .summary = "show what the memory of a step is held for: peak, categories, saved activations, timeline",
    .details =
        "Takes the options of bench. The bytes come from the plan, which is exact, so that a model of any size takes "
        "seconds and nothing runs. With --run each point that fits runs a few steps: its bytes are held and measured, "
        "and its record and trace are stored. A point that does not fit says by how much.",
    .options = memory_options,
    .parse = action_of<parse_memory, run>,
    .examples =
        "  laptime memory --model small --pass forward,step\n"
        "  laptime memory --model 2.7B --dtype bfloat16 --view saved\n"
        "  laptime memory --model small --context 128,256 --run\n",
};

}  // namespace laptime
