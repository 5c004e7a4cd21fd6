// The commands that forecast points without running them: laptime plan predicts time and memory, and laptime explain
// shows the graph and kernels that bench would run.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/words.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/sweep_words.h"
#include "cli/user_store.h"
#include "config/training_options.h"
#include "explain/explain.h"
#include "measure/forecast_point.h"
#include "points/resolve.h"
#include "prepare/fit_recompute.h"
#include "record/fields_json.h"
#include "report/explanation_text.h"
#include "report/plan_answer.h"
#include "sweep/stop_signals.h"

namespace laptime {
namespace {

constexpr std::string_view kProgramHelp = "the program to predict for a described machine; sets --mode, unless laptime";

// The points as the program runs them.
std::vector<ResolvedPoint> points_as(const Sweep& sweep, Program program) {
  std::vector<ResolvedPoint> points = checked_points(sweep);
  for (ResolvedPoint& point : points) point = as_program(std::move(point), program);
  return points;
}

struct PlanOptions {
  PlanView view = PlanView::kSummary;
  bool largest = false;
  bool framework = false;
  bool grid = false;
  bool recompute_curve = false;
  Program program = Program::kLaptime;
  TrainingOptions training;

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
    visit(own_option(kGroup, "recompute-curve",
                     "bytes against time of a point for every way to save memory: recomputation, the optimizer in "
                     "backward, moments in bfloat16, micro-batches"),
          self.recompute_curve);
    visit(own_option(kGroup, "as", kProgramHelp), self.program);
    TrainingOptions::visit_fields(self.training, visit);
  }
};

using PlanCommand = SweepCommand<PlanOptions>;

PlanCommand parse_plan(const CommandWords& words) {
  reject_positionals(words);
  auto command = given_command<PlanOptions>(words);
  const PlanOptions& options = command.options;
  if (options.grid && (options.largest || options.framework || options.view != PlanView::kSummary))
    throw Error("laptime plan: --grid shows only peaks; leave out --grid, or --largest, --framework and --view");
  return command;
}

ResolvedPoint recomputing(ResolvedPoint point, const char* rule) {
  point.config.recompute = rule;
  return point;
}

ResolvedPoint in_mode(SweepPoint point, Mode mode) {
  point.config.mode = mode;
  return point;
}

// A point with some options changed, called by them; none where the options exclude one another.
std::optional<ResolvedPoint> variant_of(const SweepPoint& point, const std::vector<GivenOption>& changes) {
  SweepPoint variant = point;
  for (const GivenOption& change : changes) {
    assign(variant.config, change.flag, "--" + std::string(change.flag), change.text);
    const Option option = find_option<RunConfig>(change.flag).value();
    variant.name += fmt::format("/{}:{}", option.tag, change.text);
  }
  try {
    validate(variant.config);
  } catch (const Error&) {
    return std::nullopt;
  }
  return variant;
}

// The point without any saving, then with each, and with all of them.
std::vector<ResolvedPoint> recompute_curve(const SweepPoint& point) {
  const std::string most_passes = std::to_string(std::min<int64_t>(point.config.model.batch_size, 256));
  const std::vector<std::vector<GivenOption>> all{
      {{"recompute", "none"}},
      {{"recompute", "none"}, {"optimizer-in-backward", "true"}},
      {{"recompute", "none"}, {"moments", "bfloat16"}},
      {{"recompute", "none"}, {"micro-batches", "2"}},
      {{"recompute", "none"}, {"micro-batches", most_passes}},
      {{"recompute", "every=4"}},
      {{"recompute", "every=2"}},
      {{"recompute", "block"}},
      {{"recompute", "block"}, {"optimizer-in-backward", "true"}, {"moments", "bfloat16"}},
      {{"recompute", "block"}, {"moments", "bfloat16"}, {"micro-batches", most_passes}},
  };
  std::vector<ResolvedPoint> points;
  for (const std::vector<GivenOption>& changes : all) {
    std::optional<ResolvedPoint> variant = variant_of(point, changes);
    const bool is_new = variant && std::ranges::none_of(points, [&](const ResolvedPoint& other) {
                          return other.config == variant->config;
                        });
    if (is_new) points.push_back(std::move(*variant));
  }
  return points;
}

// Adds advice to a planned point, stage by stage until the user asks to stop.
class Advice {
 public:
  Advice(const PlanOptions& options, KnowledgeOf knowledge, const std::vector<ResolvedPoint>& points)
      : options_(options),
        knowledge_(std::move(knowledge)),
        is_single_(points.size() == 1),
        has_compiled_(options.program != Program::kLaptime ||
                      std::any_of(points.begin(), points.end(),
                                  [](const ResolvedPoint& point) { return point.config.mode == Mode::kCompile; })) {}

  // `planned` has the record of the point. If the user stops a stage, the results of earlier stages stay.
  void add(const ResolvedPoint& point, const ShowStage& show, PlannedPoint& planned) const {
    const auto stage = [&](const char* name) {
      if (StopSignals::requested()) throw Stopped();
      show(name);
    };
    try {
      if (!options_.grid) advise(point, stage, planned);
      if (options_.largest || (is_single_ && !options_.grid)) find_largest(point, stage, planned);
      if (!options_.framework) return;
      stage("plan of a framework");
      planned.eager_bytes =
          plan_of(in_mode(recomputing(point, "none"), Mode::kEager), knowledge_).memory.predicted_peak_bytes;
    } catch (const Stopped&) {
      return;
    }
  }

 private:
  struct Stopped {};

  // Looks for recomputation that fits and a faster mode, and whether launch overhead bounds the step.
  void advise(const ResolvedPoint& point, const ShowStage& stage, PlannedPoint& planned) const {
    if (planned.record.status == Status::kOutOfMemory && point.config.recompute != "auto") {
      stage("recomputation that fits");
      const Prepared lean = plan_of(recomputing(point, "auto"), knowledge_);
      planned.fitting_recompute = lean.shortage.empty() ? typed_recompute(lean.memory.recompute) : "nothing fits";
    }
    if (!has_compiled_) {
      stage("plan of --mode compile");
      planned.compiled = better_compiled(point, planned.record);
    }
    const std::optional<LaunchBound> bound = is_single_ ? launch_bound(point, knowledge_) : std::nullopt;
    if (!bound) return;
    planned.launches = bound->launches;
    planned.launch_s = bound->each.count();
    planned.launch_bound_below = bound->least_context;
  }

  void find_largest(const ResolvedPoint& point, const ShowStage& stage, PlannedPoint& planned) const {
    const auto batch = [&](const ResolvedPoint& of) {
      return largest_that_fits(of, knowledge_, Enlarged::kBatch, kLargestBatch,
                               [&] { stage("largest batch that fits"); });
    };
    const auto context = [&](const ResolvedPoint& of) {
      return largest_that_fits(of, knowledge_, Enlarged::kContext, kLargestContext,
                               [&] { stage("largest context that fits"); });
    };
    planned.largest_batch = batch(point);
    planned.largest_context = context(point);
    if (point.config.recompute != "auto") return;
    const ResolvedPoint kept = recomputing(point, "none");
    planned.largest_batch_kept = batch(kept);
    planned.largest_context_kept = context(kept);
  }

  // The plan of the same point in compile mode, if it fits where this one does not, or is predicted to be faster.
  std::optional<Record> better_compiled(const ResolvedPoint& point, const Record& eager) const {
    Record record = forecast_point(in_mode(point, Mode::kCompile), knowledge_).record;
    if (record.status != Status::kOk) return std::nullopt;
    const std::string pass(name_of(point.config.pass));
    const bool is_faster = predicted_seconds(record, pass).value_or(0) < predicted_seconds(eager, pass).value_or(0);
    return eager.status == Status::kOutOfMemory || is_faster ? std::optional(std::move(record)) : std::nullopt;
  }

  const PlanOptions& options_;
  KnowledgeOf knowledge_;
  bool is_single_;
  bool has_compiled_;  // the points show compile mode themselves
};

ExitCode run_plan(const PlanCommand& command) {
  const OutputConfig& config = command.sweep.output;
  const PlanOptions& options = command.options;
  TrainingBudget budget = options.training.budget();
  if (!budget.is_asked()) budget = PlanQuery().budget;
  std::vector<ResolvedPoint> points = points_as(command.sweep, options.program);
  if (options.recompute_curve) {
    if (points.size() != 1)
      throw Error("laptime plan: --recompute-curve needs a single point; give one value of each option");
    points = recompute_curve(points.front());
  }
  AnswerOutput output(config);
  const KnowledgeOf known = stored_knowledge(config.store);
  const Advice advice(options, known, points);
  std::optional<StepTrace> trace;  // of the last point
  std::vector<PlannedPoint> planned;
  const auto plan = [&](const ResolvedPoint& point, const ShowStage& show) {
    PointResult forecast = forecast_point(point, known);
    trace = std::move(forecast.trace);
    PlannedPoint one{std::move(forecast.record)};
    if (trace) advice.add(point, show, one);
    return one;
  };
  plan_each(points, plan, [&](PlannedPoint one) { planned.push_back(std::move(one)); });
  if (!planned.empty()) {
    const PlanQuery query{.view = options.view,
                          .budget = budget,
                          .draws_curve = options.recompute_curve,
                          .compares_training = options.training.budget().is_asked(),
                          .grid = options.grid,
                          .verbose = config.verbose};
    const bool is_single = points.size() == 1 && !options.grid;
    output.add(is_single ? plan_answer(planned.front(), trace, query) : plan_answer(planned, query));
    if (is_single && options.view == PlanView::kSummary)
      output.hint("more: --view kernels, ops, classes, layers, attention, memory, all");
    output.finish();
  }
  return planning_exit(planned.size(), points.size());
}

enum class Dump : uint8_t { kNone, kGraph, kPlan };

constexpr auto choices_of(Dump) {
  return std::array{Choice<Dump>{Dump::kNone, "none"}, Choice<Dump>{Dump::kGraph, "graph"},
                    Choice<Dump>{Dump::kPlan, "plan"}};
}

struct ExplainOptions {
  Dump dump = Dump::kNone;
  ExplainView view = ExplainView::kSummary;
  Program program = Program::kLaptime;

  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit(own_option("Explain", "dump", "print the graph after each pass, or the plan, instead of the summary"),
          self.dump);
    visit(own_option("Explain", "view", "what to show of each point"), self.view);
    visit(own_option("Explain", "as", kProgramHelp), self.program);
  }
};

using ExplainCommand = SweepCommand<ExplainOptions>;

constexpr std::array kExplanationFormats{OutputFormat::kTable, OutputFormat::kJson, OutputFormat::kJsonl};

std::vector<OptionRow> explain_options() {
  std::vector<OptionRow> rows = together({option_rows<ExplainOptions>(), sweep_options()});
  leave_out(rows, {"columns", "sort", "quiet", "explain", "resume", "label"});
  keep_formats(rows, kExplanationFormats);
  return rows;
}

// Error for a format that explanations or, with --dump, dumps do not have.
void require_format(OutputFormat format, Dump dump) {
  const bool is_known =
      std::find(kExplanationFormats.begin(), kExplanationFormats.end(), format) != kExplanationFormats.end();
  if (is_known && (dump == Dump::kNone || format == OutputFormat::kTable)) return;
  throw Error::format(
      "laptime explain: --output {}: {}", name_of(format),
      dump == Dump::kNone ? "explanations are written as table, json, jsonl" : "dumps are written as table");
}

ExitCode run_explain(const ExplainCommand& command) {
  const OutputConfig& config = command.sweep.output;
  const ExplainOptions& options = command.options;
  require_format(config.output, options.dump);
  const std::vector<ResolvedPoint> points = points_as(command.sweep, options.program);
  const Destination destination(config.output_file);
  const KnowledgeOf known = stored_knowledge(config.store);
  const auto text_of = [&](const ResolvedPoint& point, const ShowStage&) {
    if (options.dump == Dump::kGraph) return dump_graph(point, known);
    if (options.dump == Dump::kPlan) return dump_plan(point, known);
    const Explanation explanation = explain(point, known);
    if (config.output != OutputFormat::kTable) return to_json(explanation).dump();
    return print(explanation, config.verbose ? ExplainView::kAll : options.view, destination.style());
  };
  std::vector<std::string> texts;
  plan_each(points, text_of, [&](std::string text) { texts.push_back(std::move(text)); });
  if (!texts.empty()) {
    const std::string end = config.output == OutputFormat::kJsonl ? "\n" : "";
    destination.write(config.output == OutputFormat::kJson ? json_list(texts) : joined(texts, "\n") + end);
  }
  return planning_exit(texts.size(), points.size());
}

ExplainCommand parse_explain(const CommandWords& words) {
  reject_positionals(words);
  return given_command<ExplainOptions>(words);
}

}  // namespace

constinit const Command kPlan{
    .name = "plan",
    .arguments = "[OPTIONS]",
    .summary = "predict time and bytes of a step, here or on another machine, and what fits",
    .details =
        "Takes the options of bench that describe a point, and runs nothing. On this machine times come from launches "
        "that laptime calibrate and earlier runs measured, for other sizes from the nearest ones; on a machine "
        "described by its data sheet (--device roofline:NAME) they are bounds. Bytes are those of the plan. A single "
        "point is told in a few lines with the largest batch and context that fit; several points are a table. Where a "
        "point does not fit, the least recomputation that makes it fit is searched for, and eager points are also "
        "planned in compile mode; --grid leaves out both.",
    .options =
        [] {
          return answer_options(option_rows<PlanOptions>(), {"sort", "resume", "label"});
        },
    .parse = action_of<parse_plan, run_plan>,
    .examples =
        "  laptime plan --model small,large --context 256,1024 --largest\n"
        "  laptime plan --model small,medium,large,xl,2.7B --context 256,1024 --pass inference,step --grid\n"
        "  laptime plan --model small,medium,large,xl,2.7B --context 256,1024 --pass inference,step --device h100\n"
        "  laptime plan --model 2.7B --device h100 --mode compile --view layers\n",
};

constinit const Command kExplain{
    .name = "explain",
    .arguments = "[OPTIONS]",
    .summary = "show what bench would run: parameters, FLOPs, bytes, passes, kernels chosen and refused",
    .details = "Takes the options of bench that describe a point, and runs nothing.",
    .options = explain_options,
    .parse = action_of<parse_explain, run_explain>,
};

}  // namespace laptime
