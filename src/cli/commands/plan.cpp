// Plans the points and writes the tables of what they would take and hold.
#include "cli/commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/words.h"
#include "cli/answer_output.h"
#include "cli/progress.h"
#include "cli/sweep_words.h"
#include "cli/terminal.h"
#include "cli/user_store.h"
#include "config/sweep.h"
#include "measure/forecast_point.h"
#include "prepare/fit_recompute.h"
#include "report/plan_answer.h"
#include "sweep/stop_signals.h"

namespace laptime {
namespace {

constexpr double kMostTokens = 1e18;

struct PlanOptions {
  PlanView view = PlanView::kSummary;
  bool largest = false;
  bool framework = false;
  bool grid = false;
  double tokens = PlanQuery().tokens;

  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    constexpr std::string_view kGroup = "Plan";
    visit(own_option(kGroup, "view", "what to show of a single point"), self.view);
    visit(
        own_option(kGroup, "largest", "also search the largest batch and context that fit; a single point always does"),
        self.largest);
    visit(own_option(kGroup, "framework", "also plan eager mode without recomputation, as a framework runs the point"),
          self.framework);
    visit(own_option(kGroup, "grid", "show only the grid of peaks and what fits; several times as fast"), self.grid);
    visit(Option{.flag = "tokens",
                 .key = "tokens",
                 .group = kGroup,
                 .help = "tell how long training on so many tokens takes",
                 .min = 1,
                 .max = kMostTokens,
                 .axis = false},
          self.tokens);
  }
};

std::vector<OptionRow> plan_options() {
  std::vector<OptionRow> rows = option_rows<PlanOptions>();
  for (OptionRow& row : sweep_options()) rows.push_back(std::move(row));
  keep_options_of_answers(rows);
  leave_out(rows, {"sort", "resume", "label"});
  return rows;
}

struct PlanCommand {
  Sweep sweep;
  PlanOptions options;
};

PlanCommand parse_plan(const CommandWords& words) {
  reject_positionals(words);
  const auto options = given_options<PlanOptions>(words);
  if (options.grid && (options.largest || options.framework || options.view != PlanView::kSummary))
    throw Error("laptime plan: --grid shows only peaks; leave out --grid, or --largest, --framework and --view");
  return {given_sweep(words), options};
}

// The answers about one point, and its trace for the tables of a single one.
class PlanRun {
 public:
  PlanRun(const PlanOptions& options, KnowledgeOf knowledge, const std::vector<ResolvedPoint>& points)
      : options_(options),
        knowledge_(std::move(knowledge)),
        is_single_(points.size() == 1),
        has_compiled_(std::any_of(points.begin(), points.end(),
                                  [](const ResolvedPoint& point) { return point.config.mode == Mode::kCompile; })),
        names_(spoken_points(points)),
        line_(standard_error(), points.size()) {}

  // Thrown by add() where the user has asked to stop. What was planned until then stays.
  struct Stopped {};

  void add(const ResolvedPoint& point) {
    show(point, "plan");
    last_ = forecast_point(point, knowledge_);
    planned_.push_back(PlannedPoint{last_.record});
    advise(point, planned_.back());
  }

  size_t planned() const { return planned_.size(); }
  void clear_line() { line_.clear(); }

  // Of all points that were planned.
  PointAnswer answer(const PlanQuery& query) const {
    return planned_.size() == 1 && is_single_ && !query.grid ? plan_answer(planned_.front(), last_.trace, query)
                                                             : plan_answer(planned_, query);
  }

 private:
  // What else is asked of the point that was planned last.
  void advise(const ResolvedPoint& point, PlannedPoint& planned) {
    const bool has_plan = last_.trace.has_value();
    const bool has_advice = has_plan && !options_.grid;
    if (has_advice && last_.record.status == Status::kOutOfMemory && point.config.recompute != "auto") {
      show(point, "recomputation that fits");
      const Prepared lean = plan_of(recomputing(point.config, "auto"), knowledge_);
      planned.fitting_recompute = lean.shortage.empty() ? typed_recompute(lean.memory.recompute) : "nothing fits";
    }
    if (has_advice && !has_compiled_) planned.compiled = better_compiled(point, last_.record);
    if (has_advice && is_single_) find_launch_bound(point, planned);
    if (has_plan && (options_.largest || (is_single_ && !options_.grid))) {
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

  void find_launch_bound(const ResolvedPoint& point, PlannedPoint& planned) const {
    const std::optional<LaunchBound> bound = launch_bound(point.config, knowledge_);
    if (!bound) return;
    planned.launches = bound->launches;
    planned.launch_s = bound->each.count();
    planned.launch_bound_below = bound->least_context;
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
  std::optional<Record> better_compiled(const ResolvedPoint& point, const Record& eager) {
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

  void show(const ResolvedPoint& point, const char* stage) {
    stop_if_asked();
    const bool is_planned = !planned_.empty() && planned_.back().record.name == point.name;
    const size_t index = planned_.size() - (is_planned ? 1 : 0);
    line_.show(index, names_[index], stage);
  }

  const PlanOptions& options_;
  KnowledgeOf knowledge_;
  bool is_single_;
  bool has_compiled_;  // the points show compile mode themselves
  std::vector<PlannedPoint> planned_;
  PointResult last_;
  std::vector<std::string> names_;  // of the points, in words
  PlanningLine line_;
};

ExitCode run(const PlanCommand& command) {
  const OutputConfig& config = command.sweep.output;
  const std::vector<ResolvedPoint> points = checked_points(command.sweep);
  AnswerOutput output(config);
  const KnowledgeOf known = stored_knowledge(config.store);
  const StopSignals signals;
  PlanRun plan(command.options, known, points);
  bool is_stopped = false;
  try {
    for (const ResolvedPoint& point : points) plan.add(point);
  } catch (const PlanRun::Stopped&) {
    is_stopped = true;
  }
  plan.clear_line();
  const std::string stopped = interrupted_text(plan.planned(), points.size());
  if (plan.planned() > 0) {
    const PlanOptions& options = command.options;
    output.add(
        plan.answer({.view = options.view, .tokens = options.tokens, .grid = options.grid, .verbose = config.verbose}));
    if (points.size() == 1 && options.view == PlanView::kSummary && !options.grid)
      output.hint("more: --view kernels, ops, classes, layers, attention, memory, all");
    output.finish();
  }
  if (!is_stopped) return ExitCode::kOk;
  print_message(stopped);
  return ExitCode::kInterrupted;
}

}  // namespace

constinit const Command kPlan{
    .name = "plan",
    .arguments = "[OPTIONS]",
    .summary = "predict time and bytes of a step, here or on another machine, and what fits",
    .details =
        "Takes the options of bench that describe a point, and runs nothing. On this machine times come from launches "
        "that laptime calibrate and earlier runs measured, for other sizes from the nearest ones; on a machine "
        "described "
        "by its data sheet (--device roofline:NAME) they are bounds. Bytes are those of the plan. A single point is "
        "told "
        "in a few lines with the largest batch and context that fit; several points are a table. Where a point does "
        "not "
        "fit, the least recomputation that makes it fit is searched for, and eager points are also planned in compile "
        "mode; --grid leaves out both.",
    .options = plan_options,
    .parse = action_of<parse_plan, run>,
    .examples =
        "  laptime plan --model small,large --context 256,1024 --largest\n"
        "  laptime plan --model small,medium,large,xl,2.7B --context 256,1024 --pass inference,step --grid\n"
        "  laptime plan --model small,medium,large,xl,2.7B --context 256,1024 --pass inference,step --device h100\n"
        "  laptime plan --model 2.7B --device h100 --mode compile --view layers\n",
};

}  // namespace laptime
