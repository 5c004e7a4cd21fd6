// Commands that run nothing: laptime plan predicts time and memory, laptime explain shows the graph and kernels.
#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/words.h"
#include "cli/command.h"
#include "cli/inputs.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cluster/parallel_answer.h"
#include "cluster/program_memory.h"
#include "cluster/published_answer.h"
#include "config/fields_json.h"
#include "config/machine.h"
#include "config/training_options.h"
#include "data/token_data.h"
#include "explain/advice.h"
#include "explain/explain.h"
#include "measure/forecast_point.h"
#include "page/page.h"
#include "report/explanation_text.h"
#include "report/plan_answer.h"
#include "sweep/stop_signals.h"
#include "sweep/sweep_points.h"

namespace laptime {
namespace {

constexpr std::string_view kProgramHelp =
    "predict this program, on a described machine; any program but laptime also sets --mode";

// The points of a sweep, not yet adapted to `program` (see program_point). Throws Error like as_program().
std::vector<ResolvedPoint> points_for(const Sweep& sweep, Program program) {
  std::vector<ResolvedPoint> points = checked_points(sweep);
  for (const ResolvedPoint& point : points) as_program(point, program);
  return points;
}

struct PlanOptions {
  PlanView view = PlanView::kSummary;
  bool largest = false;
  bool grid = false;
  bool recompute_curve = false;
  Program program = Program::kLaptime;
  std::string published;
  std::string html;
  bool best = false;
  std::string price_file;
  ParallelSort by = ParallelSort::kTime;
  TrainingOptions training;

  static void visit_fields(auto& self, auto&& visit) {
    const auto own = own_options("Plan", visit);
    const auto of_ranks = own_options("Ranks", visit);
    own("view", "what to show for a single point", self.view);
    own("largest", "also find the largest batch and context that fit (always done for a single point)", self.largest);
    own("grid", "show only a grid of the points' peak memory and whether they fit; several times faster", self.grid);
    own("recompute-curve",
        "show memory against time for every way to save memory: recomputation, the optimizer in "
        "backward, moments in bfloat16, micro-batches",
        self.recompute_curve);
    own("as", kProgramHelp, self.program);
    own("published",
        "predict the figures in tables of published training runs (CSV, columns: published/README.md) or in records "
        "(JSON)",
        self.published, {.otherwise = "none", .value = "FILE,..."});
    own("html", "for --published: page to write, one self-contained file", self.html,
        {.otherwise = "none", .value = "FILE"});
    of_ranks("best",
             "find the fastest step that fits, over all combinations of sharding, tensor-parallel ranks, "
             "pipeline-parallel ranks, micro-batches and recomputation",
             self.best);
    of_ranks("price-file", "TOML file with the price of one GPU-hour per device: h100 = 2.5", self.price_file,
             {.otherwise = "none", .value = "FILE.toml"});
    of_ranks("by", "sort by time or by cost", self.by);
    TrainingOptions::visit_fields(self.training, visit);
  }
};

using PlanCommand = SweepCommand<PlanOptions>;

// True if the sweep sets --ranks and its devices are described machines. Such ranks are predicted from one rank's
// share. Other ranks are planned as they would run here. Throws Error if the sweep has both.
bool predicts_ranks(const Sweep& sweep) {
  const Axis* const devices = find_axis(sweep, "device");
  if (find_axis(sweep, "ranks") == nullptr || devices == nullptr) return false;
  const auto is_described = [](const std::string& name) { return name.starts_with(kMachinePrefix); };
  const auto own = std::ranges::find_if_not(devices->values, is_described);
  const bool is_any = std::ranges::any_of(devices->values, is_described);
  if (is_any && own != devices->values.end())
    throw Error::format(
        "laptime plan: --device {}: with --ranks, plan this device and described machines in separate commands", *own);
  return is_any;
}

// Options that `option` excludes, or that need `option`, and the reason. "ranks" stands for predicted ranks.
struct OptionRule {
  std::string_view option;
  std::string_view others;  // separated by spaces
  bool are_excluded;        // false: each of the others needs `option`
  std::string_view reason;
};
constexpr bool kExcludes = true;
constexpr bool kIsNeededBy = false;
constexpr std::array kOptionRules{
    OptionRule{"published", "as best by epochs grid largest price price-file recompute-curve tokens", kExcludes,
               "the file of --published says what to predict"},
    OptionRule{"published", "html", kIsNeededBy, "to make a page of points, use laptime report"},
    OptionRule{"ranks", "best by price-file", kIsNeededBy,
               "the option applies to several GPUs; give their number and a machine, such as --ranks 8 --device h100"},
    OptionRule{"ranks", "delay grid largest optimizer-in-backward recompute-curve view", kExcludes,
               "--ranks plans several ranks, the other option only one"},
    OptionRule{"ranks", "oversubscribe", kExcludes, "predicted ranks take no cores of this machine"},
    OptionRule{"ranks", "price", kExcludes, "give the price of each GPU with --price-file"},
    OptionRule{"best", "micro-batches pipeline-parallel recompute shard tensor-parallel", kExcludes,
               "--best searches for the best value"},
    OptionRule{"grid", "largest view", kExcludes, "the grid shows only peaks"},
    OptionRule{"recompute-curve", "as", kExcludes, "the curve shows how laptime saves memory"},
    OptionRule{"recompute-curve", "view", kExcludes, "a view shows a single point"},
};

// Whether the option is given: an option of points appears in the sweep, any other differs from its default.
bool is_given(const PlanCommand& command, std::string_view flag) {
  if (flag == "ranks") return predicts_ranks(command.sweep);
  const std::optional<std::string> text = option_text(command.options, flag);
  return text ? text != option_text(PlanOptions(), flag) : find_axis(command.sweep, flag) != nullptr;
}

PlanCommand parse_plan(const CommandWords& words) {
  auto command = given_command<PlanOptions>(words);
  if (!command.options.published.empty() && !command.sweep.axes.empty())
    throw Error::format("laptime plan: --published takes models and machines from its file; leave out --{}",
                        command.sweep.axes.front().flag);
  for (const OptionRule& rule : kOptionRules) {
    if (is_given(command, rule.option) != rule.are_excluded) continue;
    for (const std::string_view other : fields_of(rule.others, ' ')) {
      if (!is_given(command, other)) continue;
      if (rule.are_excluded)
        throw Error::format("laptime plan: --{} excludes --{}; leave one out: {}", rule.option, other, rule.reason);
      if (find_axis(command.sweep, rule.option) != nullptr)
        throw Error::format("laptime plan: --{} needs a described machine, such as --device h100", other);
      throw Error::format("laptime plan: --{} needs --{}: {}", other, rule.option, rule.reason);
    }
  }
  const PlanView view = command.options.view;
  if (!command.options.published.empty() && view != PlanView::kSummary && view != PlanView::kKernels)
    throw Error::format("laptime plan: --published has no --view {}; use --view kernels, or leave it out",
                        name_of(view));
  set_program(command.sweep, command.options.program);
  return command;
}

ExitCode run_published(const PlanOptions& options, const OutputConfig& config) {
  std::vector<UsedFile> used;
  std::vector<PublishedRun> runs;
  for (const std::string& file : split_list(options.published)) {
    used.push_back({"the file of --published", file});
    std::ranges::move(read_published_runs(file), std::back_inserter(runs));
  }
  reject_overwriting({"--output-file", config.output_file}, used);
  reject_overwriting({"--html", options.html}, used);
  const std::optional<Destination> html =
      options.html.empty() ? std::nullopt : std::optional<Destination>(std::in_place, options.html);
  AnswerOutput output(config);
  const PredictedRuns predicted = predict_runs(std::move(runs));
  if (!config.verbose) output.hint("a row for each figure: --verbose, --output csv or json; a chart: --html");
  // A page on standard output replaces the tables.
  const bool shows_tables = !html || html->is_file() || !is_standard_output(config.output_file);
  if (shows_tables) {
    output.end(options.view == PlanView::kKernels ? published_work_answer(predicted, options.published)
                                                  : published_answer(predicted, options.published, config.verbose));
  }
  if (html) {
    html->write(filled_page("published.js", published_page(predicted, options.published)));
    print_message(fmt::format("page written to {}", html->text()));
  }
  return ExitCode::kOk;
}

int64_t tokens_of_data(const ResolvedPoint& point) {
  return TokenData(point.config.data, point.config.data_format).size();
}

// Removes an option from the sweep; returns its values, or its default if it was not given.
template <class Value>
std::vector<Value> take_axis(Sweep& sweep, std::string_view flag, Value otherwise) {
  const auto axis = std::ranges::find(sweep.axes, flag, &Axis::flag);
  if (axis == sweep.axes.end()) return {otherwise};
  std::vector<Value> values;
  for (const std::string& word : axis->values)
    parse_value(*find_option<RunConfig>(flag), fmt::format("--{}", flag), word, values.emplace_back());
  sweep.axes.erase(axis);
  return values;
}

// Plans steps of several ranks: each point with every layout given by the options, or with the best layouts.
ExitCode run_ranks(const PlanCommand& command) {
  const PlanOptions& options = command.options;
  const OutputConfig& config = command.sweep.output;
  Sweep sweep = command.sweep;
  RankQuestion question{.ranks = take_axis<int64_t>(sweep, "ranks", 1),
                        .shards = take_axis(sweep, "shard", Shard::kNone),
                        .tensors = take_axis<int64_t>(sweep, "tensor-parallel", 1),
                        .pipelines = take_axis<int64_t>(sweep, "pipeline-parallel", 1),
                        .program = options.program,
                        .searches = options.best,
                        // With --memory-limit, the default of --recompute is auto, which several ranks do not support.
                        .follows_recompute = find_axis(sweep, "recompute") != nullptr};
  reject_overwriting({"--output-file", config.output_file}, {{"the price file", options.price_file}});
  question.points = checked_points(sweep);
  const TrainingBudget budget = options.training.budget();
  check_budget(budget, question.points);
  ParallelQuery query{.tokens = budget.tokens, .sort = options.by, .verbose = config.verbose};
  const ResolvedPoint& first = question.points.front();
  if (budget.epochs && std::ranges::any_of(question.points, [&](const ResolvedPoint& point) {
        return point.config.data != first.config.data;
      }))
    throw Error("laptime plan: --epochs with --ranks: all points must have the same --data; give one file");
  if (budget.epochs) query.tokens = *budget.epochs * static_cast<double>(tokens_of_data(first));
  query.prices = prices_of(mapped(question.points, [](const ResolvedPoint& one) { return one.config.device; }),
                           options.price_file, options.by == ParallelSort::kCost);
  AnswerOutput output(config);
  const std::vector<PointAnswer> answers = rank_answers(question, query);
  for (const PointAnswer& answer : answers) output.add(answer);
  output.finish();
  const bool is_any_supported = std::ranges::any_of(answers, [](const PointAnswer& one) { return one.reason.empty(); });
  return is_any_supported ? ExitCode::kOk : ExitCode::kFailed;
}

ExitCode run_plan(const PlanCommand& command) {
  if (!command.options.published.empty()) return run_published(command.options, command.sweep.output);
  if (predicts_ranks(command.sweep)) return run_ranks(command);
  const OutputConfig& config = command.sweep.output;
  const PlanOptions& options = command.options;
  const TrainingBudget budget = options.training.budget();
  std::vector<ResolvedPoint> points = points_for(command.sweep, options.program);
  check_budget(budget, points);
  if (options.recompute_curve) {
    if (points.size() != 1)
      throw Error("laptime plan: --recompute-curve needs a single point; give one value of each option");
    points = resolved(expand_savings(points.front()));
  }
  AnswerOutput output(config);
  const KnowledgeOf known = stored_knowledge(config.store);
  const bool is_single = points.size() == 1 && !options.grid;
  const bool has_details =
      config.verbose || config.output == OutputFormat::kJson || config.output == OutputFormat::kJsonl;
  const bool is_other = options.program != Program::kLaptime;
  SharePlans shares;
  bool has_own_memory = false;  // a point shows laptime's memory, because the program's is not known
  const bool shows_compiled = is_other || std::ranges::any_of(points, [](const ResolvedPoint& point) {
                                return point.config.mode == Mode::kCompile;
                              });
  const AdviceParts parts{.remedies = !options.grid,
                          .compile_mode = !options.grid && !shows_compiled,
                          .launch_bound = is_single && has_details,
                          .largest_sizes = options.largest || is_single};
  std::optional<StepTrace> trace;       // trace of the point that was planned last
  std::optional<RankBytes> rank_bytes;  // memory of that point, if another program runs it
  std::vector<PlannedPoint> planned;
  const auto plan = [&](const ResolvedPoint& point, const ShowStage& show) {
    const ProgramPoint program = program_point(point, options.program, shares);
    PointResult forecast = forecast_point(program.point, known);
    trace = std::move(forecast.trace);
    PlannedPoint one{std::move(forecast.record)};
    if (budget.epochs) one.record.data.tokens = tokens_of_data(point);
    const auto begin = [&](const char* stage) {
      if (!StopSignals::requested()) show(stage);
      return !StopSignals::requested();
    };
    if (!trace) return one;
    if (!program.rank) {
      has_own_memory = has_own_memory || is_other;
      advise(program.point, known, parts, begin, one);
      return one;
    }
    set_memory(point, program, shares, one);
    rank_bytes = program.rank->bytes;
    AdviceParts of_time{.remedies = false, .compile_mode = false, .launch_bound = parts.launch_bound};
    advise(program.point, known, of_time, begin, one);
    const auto excess = [&](const RunConfig& config) { return memory_excess(config, options.program, shares); };
    AdviceParts of_memory{
        .remedies = false, .compile_mode = false, .largest_sizes = parts.largest_sizes, .excess = excess};
    advise(point, known, of_memory, begin, one);
    return one;
  };
  const PlannedCount count = plan_each(points, plan, [&](PlannedPoint one) { planned.push_back(std::move(one)); });
  if (!planned.empty()) {
    const PlanQuery query{.view = options.view,
                          .budget = budget.is_asked() ? budget : PlanQuery().budget,
                          .draws_curve = options.recompute_curve,
                          .compares_training = budget.is_asked(),
                          .grid = options.grid,
                          .verbose = config.verbose};
    PointAnswer answer = is_single ? plan_answer(planned.front(), trace, query) : plan_answer(planned, query);
    if (is_single && rank_bytes) {
      const bool is_shown = options.view == PlanView::kMemory || options.view == PlanView::kAll;
      is_shown ? answer.show(memory_table(*rank_bytes)) : answer.keep(memory_table(*rank_bytes));
    }
    output.add(std::move(answer));
    if (has_own_memory)
      output.hint("points that are not whole steps, or use options such as --recompute every=K, show laptime's memory");
    else if (is_single && options.view == PlanView::kSummary)
      output.hint("more: --view kernels, ops, classes, layers, attention, memory, all");
    output.finish();
  }
  return planning_exit(count, points);
}

enum class Dump : uint8_t { kNone, kGraph, kPlan };

constexpr auto choices_of(Dump) { return choices<Dump>("none", "graph", "plan"); }

struct ExplainOptions {
  Dump dump = Dump::kNone;
  ExplainView view = ExplainView::kSummary;
  Program program = Program::kLaptime;

  static void visit_fields(auto& self, auto&& visit) {
    const auto own = own_options("Explain", visit);
    own("dump", "print the graph after each pass, or the plan, instead of the summary", self.dump);
    own("view", "what to show for each point", self.view);
    own("as", kProgramHelp, self.program);
  }
};

using ExplainCommand = SweepCommand<ExplainOptions>;

ExplainCommand parse_explain(const CommandWords& words) {
  auto command = given_command<ExplainOptions>(words);
  set_program(command.sweep, command.options.program);
  return command;
}

constexpr std::array kExplanationFormats{OutputFormat::kTable, OutputFormat::kJson, OutputFormat::kJsonl};

std::vector<OptionRow> explain_options() {
  return with_formats(
      without(together(option_rows<ExplainOptions>(), sweep_options()), "columns sort quiet explain resume label mfu"),
      kExplanationFormats);
}

ExitCode run_explain(const ExplainCommand& command) {
  const OutputConfig& config = command.sweep.output;
  const ExplainOptions& options = command.options;
  require_format(config.output, kExplanationFormats);
  if (options.dump != Dump::kNone && config.output != OutputFormat::kTable)
    throw Error::format("laptime explain: --output {}: a dump is plain text; use --output table",
                        name_of(config.output));
  const std::vector<ResolvedPoint> points = points_for(command.sweep, options.program);
  const Destination destination(config.output_file);
  const KnowledgeOf known = stored_knowledge(config.store);
  SharePlans shares;
  const auto text_of = [&](const ResolvedPoint& given, const ShowStage&) {
    const ProgramPoint program = program_point(given, options.program, shares);
    const ResolvedPoint& point = program.point;
    if (options.dump == Dump::kGraph) return dump_graph(point, known);
    if (options.dump == Dump::kPlan) return dump_plan(point, known);
    Explanation explanation = explain(point, known);
    if (program.rank)
      set_memory(given, program, explanation);
    else if (options.program != Program::kLaptime)
      explanation.memory.reset();  // it is laptime's, not the program's
    if (config.output != OutputFormat::kTable) return to_json(explanation).dump();
    return print(explanation, config.verbose ? ExplainView::kAll : options.view, destination.style());
  };
  std::vector<std::string> texts;
  const PlannedCount count = plan_each(points, text_of, [&](std::string text) { texts.push_back(std::move(text)); });
  if (!texts.empty()) {
    const std::string end = config.output == OutputFormat::kJsonl ? "\n" : "";
    destination.write(config.output == OutputFormat::kJson ? json_list(texts) : joined(texts, "\n") + end);
  }
  return planning_exit(count, points);
}

}  // namespace

constinit const Command kPlan{
    .name = "plan",
    .summary = "predict the time and memory of a step, here or on another machine, and what fits",
    .details =
        "Takes the options of bench that describe a point, but runs nothing. On this machine, times come from launches "
        "that laptime calibrate and earlier runs measured at the nearest sizes. On a described machine (--device "
        "roofline:NAME) they come from the fraction of data-sheet peaks that programs reach, or are bounds if that "
        "fraction is unknown; --as predicts another program, such as PyTorch. A single point gets a short summary with "
        "the largest batch and context that fit; several points are shown as a table. laptime also searches for the "
        "least recomputation that makes a point fit, and plans eager points in compile mode; --grid skips both.",
    .options = [] { return answer_options(option_rows<PlanOptions>(), "sort resume label"); },
    .parse = action_of<parse_plan, run_plan>,
    .examples =
        "  laptime plan --model small,large --context 256,1024 --largest\n"
        "  laptime plan --model small,medium,large,xl,2.7B --context 256,1024 --pass inference,step --grid\n"
        "  laptime plan --model small,medium,large,xl,2.7B --context 256,1024 --pass inference,step --device h100\n"
        "  laptime plan --model 2.7B --device h100 --mode compile --view layers\n",
};

constinit const Command kExplain{
    .name = "explain",
    .summary = "show what bench would run: parameters, FLOPs, bytes, passes, kernels chosen and rejected",
    .details = "Takes the options of bench that describe a point, but runs nothing.",
    .options = explain_options,
    .parse = action_of<parse_explain, run_explain>,
};

}  // namespace laptime
