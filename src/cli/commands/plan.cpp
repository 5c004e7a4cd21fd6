// Plans the points and writes the tables of what they would take and hold.
#include "cli/commands/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "base/words.h"
#include "cli/grid_output.h"
#include "cli/message.h"
#include "cli/planning_line.h"
#include "cli/store_path.h"
#include "cli/stored_knowledge.h"
#include "cli/sweep_words.h"
#include "cli/used_files.h"
#include "config/sweep.h"
#include "measure/forecast_point.h"
#include "prepare/fit_recompute.h"
#include "report/memory/memory_report.h"
#include "report/plan_table.h"
#include "report/profile/profile_report.h"
#include "sweep/ablation.h"
#include "sweep/check_inputs.h"
#include "sweep/stop_signals.h"

namespace laptime {
namespace {

struct PlanOptions {
  ProfileView view = ProfileView::kSummary;
  bool largest = false;
  bool framework = false;
  bool grid = false;

  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    constexpr std::string_view kGroup = "Plan";
    visit(
        Option{.flag = "view",
               .key = "view",
               .group = kGroup,
               .help = "table of predicted times, where there is a single point; with --largest only where it is given",
               .axis = false},
        self.view);
    visit(Option{.flag = "largest",
                 .key = "largest",
                 .group = kGroup,
                 .help = "also the largest batch and the largest context that fit",
                 .axis = false},
          self.largest);
    visit(Option{.flag = "framework",
                 .key = "framework",
                 .group = kGroup,
                 .help = "also the peak of the same point in eager mode without recomputation, as a framework runs it",
                 .axis = false},
          self.framework);
    visit(
        Option{.flag = "grid",
               .key = "grid",
               .group = kGroup,
               .help = "the grid of peaks and what fits alone, several times as fast: no plans of compile mode, and no "
                       "search for a recomputation that fits",
               .axis = false},
        self.grid);
  }
};

std::vector<OptionRow> plan_options() {
  std::vector<OptionRow> rows = option_rows<PlanOptions>();
  for (OptionRow& row : sweep_options()) rows.push_back(std::move(row));
  keep_options_of_grids(rows);
  leave_out(rows, {"sort", "resume", "label"});
  return rows;
}

struct PlanCommand {
  Sweep sweep;
  PlanOptions options;
  bool asks_view = false;  // --view is given
};

PlanCommand parse_plan(const CommandWords& words) {
  reject_positionals(words);
  PlanOptions options;
  PlanCommand plan;
  for (const GivenFlag& given : words.flags) {
    assign_given(options, given);
    plan.asks_view = plan.asks_view || given.flag == "view";
  }
  plan.sweep = starting_sweep(words, {});
  plan.options = options;
  if (options.grid && (options.largest || options.framework || plan.asks_view))
    throw Error("laptime plan: --grid shows peaks alone; leave it out, or --largest, --framework and --view");
  set_given(plan.sweep, words);
  return plan;
}

// The answers about one point, and its trace for the tables of a single one.
class PlanRun {
 public:
  PlanRun(const PlanOptions& options, KnowledgeOf knowledge, const std::vector<SweepPoint>& points)
      : options_(options),
        knowledge_(std::move(knowledge)),
        has_compiled_(std::any_of(points.begin(), points.end(),
                                  [](const SweepPoint& point) { return point.config.mode == Mode::kCompile; })),
        line_(standard_error(), points.size()) {}

  // Thrown by add() where the user has asked to stop. What was planned until then stays.
  struct Stopped {};

  void add(const SweepPoint& point) {
    show(point, "plan");
    last_ = forecast_point(point, knowledge_);
    planned_.push_back(PlannedPoint{last_.record});
    advise(point, planned_.back());
  }

  size_t planned() const { return planned_.size(); }
  const PointResult& last() const { return last_; }
  void clear_line() { line_.clear(); }

  Grid table() const { return plan_grid(planned_); }
  std::optional<Grid> fitting() const { return fitting_grid(planned_); }
  std::string answer() const { return plan_answer(planned_); }

 private:
  // What else is asked of the point that was planned last.
  void advise(const SweepPoint& point, PlannedPoint& planned) {
    const bool has_plan = last_.trace.has_value();
    const bool has_advice = has_plan && !options_.grid;
    if (has_advice && last_.record.status == Status::kOutOfMemory && point.config.recompute != "auto") {
      show(point, "recomputation that fits");
      const Prepared lean = plan_of(recomputing(point.config, "auto"), knowledge_);
      planned.fitting_recompute = lean.shortage.empty() ? typed_recompute(lean.memory.recompute) : "nothing fits";
    }
    if (has_advice && !has_compiled_) planned.compiled = better_compiled(point, last_.record);
    if (has_plan && options_.largest) {
      show(point, "largest batch that fits");
      planned.largest_batch = largest(point.config, Enlarged::kBatch, kLargestBatch);
      show(point, "largest context that fits");
      planned.largest_context = largest(point.config, Enlarged::kContext, kLargestContext);
      if (point.config.recompute == "auto") {
        const RunConfig kept = recomputing(point.config, "none");
        planned.largest_batch_kept = largest(kept, Enlarged::kBatch, kLargestBatch);
        planned.largest_context_kept = largest(kept, Enlarged::kContext, kLargestContext);
      }
    }
    if (has_plan && options_.framework) {
      show(point, "plan of a framework");
      RunConfig eager = recomputing(point.config, "none");
      eager.mode = Mode::kEager;
      planned.eager_bytes = plan_of(eager, knowledge_).memory.predicted_peak_bytes;
    }
  }

  static void stop_if_asked() {
    if (StopSignals::requested()) throw Stopped();
  }

  int64_t largest(const RunConfig& config, Enlarged what, int64_t limit) const {
    return largest_that_fits(config, knowledge_, what, limit, stop_if_asked);
  }

  static RunConfig recomputing(RunConfig config, const char* rule) {
    config.recompute = rule;
    return config;
  }

  // The plan of the same point in compile mode, if it fits where this one does not, or is predicted to be faster.
  std::optional<Record> better_compiled(const SweepPoint& point, const Record& eager) {
    show(point, "plan of --mode compile");
    SweepPoint compiled = point;
    compiled.config.mode = Mode::kCompile;
    Record record = forecast_point(compiled, knowledge_).record;
    if (record.status != Status::kOk) return std::nullopt;
    const std::string pass(name_of(point.config.pass));
    const auto seconds = [&](const Record& of) {
      const auto found = of.prediction.time.find(pass);
      return found == of.prediction.time.end() ? 0 : found->second;
    };
    const bool is_faster = seconds(record) < seconds(eager);
    return eager.status == Status::kOutOfMemory || is_faster ? std::optional(std::move(record)) : std::nullopt;
  }

  void show(const SweepPoint& point, const char* stage) {
    stop_if_asked();
    const bool is_planned = !planned_.empty() && planned_.back().record.name == point.name;
    line_.show(planned_.size() - (is_planned ? 1 : 0), point.name, stage);
  }

  const PlanOptions& options_;
  KnowledgeOf knowledge_;
  bool has_compiled_;  // the points show compile mode themselves
  std::vector<PlannedPoint> planned_;
  PointResult last_;
  PlanningLine line_;
};

// "1240 launches x 8.000 us take 9.920 ms, 82.0 % of the step: launch-bound below context 400".
std::string launch_sentence(const LaunchBound& bound) {
  const Seconds launching = bound.each * static_cast<double>(bound.launches);
  constexpr double kPercent = 100;
  const std::string until = !bound.least_context ? "launch-bound at any context"
                            : *bound.least_context == 1
                                ? "not launch-bound at any context"
                                : fmt::format("launch-bound below context {}", *bound.least_context);
  return fmt::format("{} launches x {} take {}, {:.1f} % of the step: {}", bound.launches,
                     format_seconds(bound.each.count()), format_seconds(launching.count()),
                     kPercent * (launching / bound.step), until);
}

// The sentences and tables of a single point.
PointReport report_of(const SweepPoint& point, const PointResult& result, const KnowledgeOf& known, ProfileView view) {
  const Record& record = result.record;
  PointReport report{record.name, {prediction_sentence(record)}, {}};
  if (!result.trace) return report;
  if (const auto bound = launch_bound(point.config, known); bound && bound->step.count() > 0)
    report.lines.push_back(launch_sentence(*bound));
  PointReport memory = memory_report(record, *result.trace, {.view = MemoryView::kCategories});
  report.lines.insert(report.lines.end(), memory.lines.begin(), memory.lines.end());
  if (!result.trace->steps.empty()) {
    PointReport times = profile_report(record, *result.trace, {.view = view});
    std::move(times.grids.begin(), times.grids.end(), std::back_inserter(report.grids));
  }
  for (Grid& grid : memory.grids) {
    grid.name = "memory_" + grid.name;  // both reports have a table of phases
    report.grids.push_back(std::move(grid));
  }
  return report;
}

// The answer and the tables of all points that were planned.
PointReport report_of(const PlanCommand& command, const std::vector<SweepPoint>& points, const PlanRun& plan,
                      const KnowledgeOf& known, bool is_stopped) {
  const OutputFormat format = command.sweep.output.output;
  // Whoever asks for the largest sizes reads the answer, not where the time goes; files and programs get all of it.
  const bool is_for_people = format == OutputFormat::kTable || format == OutputFormat::kMarkdown;
  const bool is_brief =
      is_stopped || (is_for_people && (command.options.largest || command.options.grid) && !command.asks_view);
  PointReport report{points.size() == 1 ? points.front().name : "plan", {}, {}};
  if (points.size() == 1 && !is_brief) report = report_of(points.front(), plan.last(), known, command.options.view);
  if (points.size() == 1 && is_brief && !is_stopped && plan.last().trace)
    report.lines.emplace_back("where its time and memory go: the same with --view summary");
  report.lines.insert(report.lines.begin(), plan.answer());
  std::optional<Grid> fitting = plan.fitting();
  if (!command.options.grid || !fitting) report.grids.insert(report.grids.begin(), plan.table());
  if (fitting) report.grids.insert(report.grids.begin(), std::move(*fitting));
  return report;
}

ExitCode run(const PlanCommand& command) {
  const OutputConfig& config = command.sweep.output;
  std::vector<SweepPoint> points = points_of(command.sweep);
  reject_overwriting(command.sweep, points, store_path(config.store));
  check_inputs(points);
  GridOutput output(config);
  const KnowledgeOf known = stored_knowledge(config.store);
  const StopSignals signals;
  PlanRun plan(command.options, known, points);
  bool is_stopped = false;
  try {
    for (const SweepPoint& point : points) plan.add(point);
  } catch (const PlanRun::Stopped&) {
    is_stopped = true;
  }
  plan.clear_line();
  const std::string stopped = interrupted_text(plan.planned(), points.size());
  if (plan.planned() > 0) {
    PointReport report = report_of(command, points, plan, known, is_stopped);
    if (is_stopped) report.lines.insert(report.lines.begin(), stopped);
    output.add(std::move(report));
    output.finish();
  }
  if (!is_stopped) return ExitCode::kOk;
  print_message(stopped);
  return ExitCode::kInterrupted;
}

CommandAction plan_action(const CommandWords& words) {
  return [command = parse_plan(words)] { return run(command); };
}

}  // namespace

constinit const Command kPlan{
    .name = "plan",
    .arguments = "[OPTIONS]",
    .summary = "time and bytes of a step before it runs, here or on another machine; what fits",
    .details =
        "Takes the options of bench that describe a point, and runs nothing. On this machine times come from launches "
        "that were measured, by laptime calibrate and by every earlier run, and for other sizes from the nearest ones; "
        "on a machine that is described (--device roofline:NAME) they are bounds of its data sheet. Bytes are those of "
        "the plan. Several points are one table, after a grid of what fits where they differ in pass or number type. "
        "For that table every point is also planned in compile mode, and where one does not fit, the least "
        "recomputation that makes it fit is searched for. Both take most of the time; --grid leaves them out. A single "
        "point is shown by phase, class, layer or op (--view) and with what its memory is held for.",
    .options = plan_options,
    .parse = plan_action,
    .examples =
        "  laptime plan --model small,large --context 256,1024 --largest\n"
        "  laptime plan --model small,medium,large,xl,2.7B --context 256,1024 --pass inference,step --grid\n"
        "  laptime plan --model small,medium,large,xl,2.7B --context 256,1024 --pass inference,step --device h100\n"
        "  laptime plan --model 2.7B --device h100 --mode compile --view layers\n",
};

}  // namespace laptime
