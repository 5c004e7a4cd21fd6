// Commands that measure the points of a sweep: bench, attention, calibrate (for laptime plan), and point, which a
// launcher runs for each point.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/words.h"
#include "cli/command.h"
#include "cli/inputs.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "config/label.h"
#include "config/launch_options.h"
#include "config/model_presets.h"
#include "config/ready_sweeps.h"
#include "config/training_options.h"
#include "measure/forecast_point.h"
#include "model/model_card.h"
#include "report/plan_answer.h"
#include "report/words.h"
#include "sweep/pipe.h"
#include "sweep/point_server.h"
#include "table/value_text.h"

namespace laptime {
namespace {

struct BenchOptions {
  bool strict = false;
  TrainingOptions training{};
  LaunchOptions launch{};

  static void visit_fields(auto& self, auto&& visit) {
    const auto own = own_options(kOutput, visit);
    own("strict", "exit with code 1 unless every point is ok; out of memory and unsupported count as failures",
        self.strict);
    TrainingOptions::visit_fields(self.training, visit);
    LaunchOptions::visit_fields(self.launch, visit);
  }
};

using BenchCommand = SweepCommand<BenchOptions>;

SlurmJob slurm_job() {
  return {.job_id = variable("SLURM_JOB_ID"),
          .cpus_per_task = variable("SLURM_CPUS_PER_TASK"),
          .cpus_on_node = variable("SLURM_CPUS_ON_NODE"),
          .task_id = variable("SLURM_ARRAY_TASK_ID"),
          .task_min = variable("SLURM_ARRAY_TASK_MIN"),
          .task_count = variable("SLURM_ARRAY_TASK_COUNT")};
}

// The launcher given by the options, adapted to the Slurm job of this process if there is one; none without --launcher.
std::optional<Launcher> launcher_of(const LaunchOptions& options) {
  if (options.launcher.empty()) {
    if (options.jobs)
      throw Error(
          "--jobs needs --launcher: points that run on one machine at the same time would disturb each other; leave "
          "out --jobs");
    return std::nullopt;
  }
  return Launcher{.words = parse_launcher("--launcher", options.launcher, slurm_job()),
                  .program = std::filesystem::read_symlink("/proc/self/exe").string(),
                  .jobs = static_cast<size_t>(options.jobs.value_or(1))};
}

struct PlacedPoints {
  std::vector<ResolvedPoint> points;
  bool is_part_of_supported = false;  // --part is given, and the whole sweep has a supported point
};

// The points of the sweep, or of the part that --part selects; a part may be empty. Throws Error if no point of the
// whole sweep can run.
PlacedPoints placed_points(const Sweep& sweep, const LaunchOptions& options) {
  const RunsOn where = options.launcher.empty() ? RunsOn::kThisMachine : RunsOn::kOtherMachines;
  if (options.part.empty()) return {.points = checked_points(sweep, points_of(sweep), {}, where)};
  const SweepPart part = parse_part("--part", options.part, slurm_job());
  if (sweep.output.store.empty())
    throw Error::format(
        "--part {}/{}: give the part a store of its own, such as --store part{}.sqlite; laptime import "
        "merges the parts",
        part.index, part.count, part.index);
  PlacedPoints placed{.points = checked_points(sweep, points_of(sweep), {}, where)};
  placed.is_part_of_supported = any_can_run(placed.points);
  size_t index = 0;
  std::erase_if(placed.points, [&](const ResolvedPoint&) { return !part.has(index++); });
  return placed;
}

std::string explanation_of(const Record& record) {
  std::string text = fmt::format("\n{}\n", spoken_name(record.name));
  const std::optional<Table> table = prediction_table(record);
  if (!table && is_predicted(record)) return text + "predicted only; there is no measurement to compare with\n";
  if (!table) return text + basis_words(record.prediction) + "\n";
  return text + prediction_words(record) + "\n" + text_of(*table, standard_error().style());
}

ExitCode run_points(const BenchCommand& command, const PlacedPoints& placed, const RankPipes& ranks) {
  const std::vector<ResolvedPoint>& points = placed.points;
  OutputConfig config = command.sweep.output;
  const std::optional<Launcher> launcher = launcher_of(command.options.launch);
  if (points.empty()) {
    print_message(fmt::format("--part {}: this part of the sweep contains no points; use fewer parts",
                              command.options.launch.part));
    return ExitCode::kOk;
  }
  if (config.ablate && config.columns == OutputConfig().columns) config.columns += ",gain";
  const TrainingBudget budget = command.options.training.budget();
  check_budget(budget, points);
  const std::vector<Record> planned = planned_records(points);
  PointOutput output;
  RecordOutput records(config, planned, &output.stored_runs);
  // Shows rows on standard error as points finish, unless the records themselves appear on a terminal.
  std::optional<TableStream> table;
  if (!records.is_live_table() && !(standard_output().is_terminal && is_standard_output(config.output_file)))
    table.emplace(table_style(standard_error(), config, &output.stored_runs), config.columns, RecordList(planned));
  TrainingLines training(config, budget);
  std::string explanations;
  int64_t not_ok = 0;
  output.add = [&](const PointResult& result) {
    if (table) print_error_text(table->add(result.record));
    records.add(result.record);
    training.add(result.record);
    not_ok += result.record.status == Status::kOk ? 0 : 1;
    if (config.explain) explanations += explanation_of(result.record);
  };
  output.finish = [&] {
    records.finish();
    training.print();
    if (table) print_error_text(table->end());
    print_error_text(explanations);
  };
  const ExitCode code = run_watched(points,
                                    {.store = store_for(config),
                                     .resume = config.resume,
                                     .name = command.sweep.name,
                                     .is_part_of_supported = placed.is_part_of_supported,
                                     .launcher = launcher,
                                     .ranks = ranks},
                                    output);
  if (code != ExitCode::kOk || !command.options.strict || not_ok == 0) return code;
  print_message(fmt::format("--strict: {} of {} points are not ok", not_ok, points.size()));
  return ExitCode::kFailed;
}

ExitCode run_bench(const BenchCommand& command, const RankPipes& ranks) {
  return run_points(command, placed_points(command.sweep, command.options.launch), ranks);
}

// The options of laptime attention, with the defaults of its sweep. Omits options that do not apply to attention.
std::vector<OptionRow> attention_options() {
  const ModelCard& card = card_of(kAttentionModel);
  std::vector<OptionRow> of_points = option_rows<RunConfig>();
  std::erase_if(of_points, [&](const OptionRow& row) { return !card.takes(row.option.flag); });
  return with_defaults(
      together(sweep_options(without(std::move(of_points), "model edition")), option_rows<LaunchOptions>()),
      attention_sweep());
}

// The values of the varying options, except the context: "d_model 16 eager".
std::string conditions_of(const Sweep& sweep, const SweepPoint& point) {
  std::vector<std::string> words;
  for (const OptionRow& row : option_rows<RunConfig>()) {
    const Axis* const axis = find_axis(sweep, row.option.flag);
    if (row.option.flag == "context" || axis == nullptr || axis->values.size() < 2) continue;
    const std::string value = option_text(point.config, row.option.key).value_or("");
    const bool names_itself = row.option.key == "mode" || row.option.key == "dtype";
    words.push_back(names_itself ? value : fmt::format("{} {}", row.option.key, value));
  }
  return joined(words, " ");
}

// A line with the largest context that fits in memory for each combination of the other options.
std::string largest_contexts(const Sweep& sweep, const std::vector<ResolvedPoint>& points) {
  const KnowledgeOf knowledge = stored_knowledge(sweep.output.store);
  const std::vector<std::string> all =
      mapped(points, [&](const ResolvedPoint& point) { return conditions_of(sweep, point); });
  PlanningLine line(standard_error(), all);
  std::set<std::string> seen;
  std::vector<std::string> texts;
  for (size_t i = 0; i < points.size(); ++i) {
    const std::string& conditions = all[i];
    if (!points[i].device || !seen.insert(conditions).second) continue;
    line.show(i, "largest context that fits");
    const int64_t largest = largest_that_fits(points[i], knowledge, Enlarged::kContext, kLargestContext);
    texts.push_back(fmt::format("{}{}{}{}", conditions, conditions.empty() ? "" : " ",
                                grouped_digits(std::to_string(largest)), largest == kLargestContext ? " or more" : ""));
  }
  if (texts.empty()) return "";
  return broken_at_spaces(fmt::format("largest context that fits: {}", joined(texts, "; ")), standard_output().width,
                          2) +
         "\n";
}

ExitCode run_attention(const BenchCommand& command) {
  const OutputConfig& config = command.sweep.output;
  const PlacedPoints placed = placed_points(command.sweep, command.options.launch);
  const ExitCode code = run_points(command, placed, {});
  if (code != ExitCode::kInterrupted && shows_table(config) && !config.quiet)
    until_reader_goes([&] { write_output(largest_contexts(command.sweep, placed.points)); });
  return code;
}

BenchCommand parse_attention(const CommandWords& words) {
  return {given_attention_sweep(words), {.launch = given_options<LaunchOptions>(words)}};
}

// Lists the launch costs in the store for the points' devices. `notes` say which points failed, and why.
PointAnswer calibration_answer(const std::vector<ResolvedPoint>& points, const KnowledgeOf& knowledge,
                               std::vector<std::string> notes) {
  std::set<std::string> devices;
  for (const ResolvedPoint& point : points) devices.insert(point.device_key);
  devices.erase("");
  std::vector<LaunchCost> costs;
  for (const std::string& device : devices) {
    const std::vector<LaunchCost> of_device = knowledge(device).launch_costs;
    costs.insert(costs.end(), of_device.begin(), of_device.end());
  }
  const auto disturbed = std::ranges::count_if(costs, [](const LaunchCost& cost) { return !cost.disturbance.empty(); });
  PointAnswer answer{.name = "calibration"};
  add(answer.findings, "calibration", "", {{"launches", costs.size()}, {"disturbed_launches", disturbed}});
  answer.say(words(answer.findings.front()));
  for (std::string& note : notes) answer.say(std::move(note));
  answer.show(launch_costs_table(costs));
  if (disturbed > 0) answer.say("! the machine was busy: run laptime calibrate again when it is idle");
  return answer;
}

Sweep parse_calibrate(const CommandWords& words) {
  Sweep sweep = given_sweep(words, calibration_sweep());
  sweep.name = kCalibrationSweep;
  return sweep;
}

ExitCode run_calibrate(const Sweep& sweep, const RankPipes& ranks) {
  if (!store_path(sweep.output.store))
    throw Error("laptime calibrate: there is no store to keep the measurements in; name a file with --store");
  const std::vector<ResolvedPoint> points = checked_points(sweep);
  AnswerOutput answers(sweep.output);
  std::vector<std::string> notes;
  PointOutput output;
  output.add = [&](const PointResult& result) {
    const Record& record = result.record;
    if (record.status != Status::kOk)
      notes.push_back(fmt::format("{}: {}: {}", spoken_name(record.name), name_of(record.status), record.reason));
  };
  output.finish = [&] {
    answers.add(calibration_answer(points, stored_knowledge(sweep.output.store), std::move(notes)));
    answers.finish();
  };
  // Steps are traced, because the samples of short steps contain no launch times.
  return run_watched(points, sweep, /*traced_steps=*/3, output, ranks);
}

ExitCode run_point(const RankPipes& /*ranks*/) {
  if (isatty(STDIN_FILENO) == 1)
    throw Error(
        "laptime point: laptime bench --launcher runs this command and writes a point to its standard input; run "
        "laptime bench instead");
  const Descriptor messages(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  if (messages < 0)
    throw Error(
        "laptime point: standard output is closed, but the sweep reads messages from it; use a launcher that keeps it "
        "open");
  dup2(STDERR_FILENO, STDOUT_FILENO);  // keeps the output of libraries out of the messages
  serve_point(STDIN_FILENO, messages);
  return ExitCode::kOk;
}

}  // namespace

constinit const Command kBench{
    .name = "bench",
    .summary = "measure training steps: one row per point of a sweep",
    .details =
        "Options written with ',...' take a list, and the sweep is the product of the lists. Each point runs in a "
        "separate process and is stored before the next one starts.",
    .options = [] { return together(sweep_options(), option_rows<BenchOptions>()); },
    .parse = action_of<given_command<BenchOptions>, run_bench>,
    .examples =
        "  laptime bench --model small --pass inference,forward_backward,step\n"
        "  laptime bench --model small --pass forward_backward --warmup 5 --steps 10 --columns mean_std\n"
        "  laptime bench --model small --mode eager,compile --columns default,speedup\n"
        "  laptime bench --model small --pass forward_backward --warmup 0,1,2,5 --steps 10 --columns mean_std\n",
};

constinit const Command kAttention{
    .name = "attention",
    .summary = "measure attention by itself: time and memory of forward and backward, for any width and length",
    .details =
        "Measures softmax(q k^T / sqrt(d)) v for one head; q, k and v are [batch, 1, context, d-model]. Backward "
        "starts from a gradient of ones. --mode eager keeps the scores and their softmax in memory; --mode compile is "
        "one blocked kernel that keeps neither; with --lower scaled_dot_product_attention, compile mode runs two "
        "products and a fused softmax, and keeps the result of the softmax. A point that does not fit is reported "
        "before it runs. The largest context that fits is printed below the table; --verbose itemizes the memory of "
        "the smallest point that does not fit. --columns attention_memory prints the memory before backward of several "
        "modes, too. CSV and JSON lines have the columns of bench.",
    .options = attention_options,
    .parse = action_of<parse_attention, run_attention>,
    .examples = "  laptime attention --d-model 64 --context 1024,4096 --mode eager,compile\n",
};

constinit const Command kCalibrate{
    .name = "calibrate",
    .summary = "measure launch times, once per machine, for the predictions of laptime plan",
    .details =
        "Runs short steps of a two-layer model and stores the time of each launch, by kernel, shape and number of "
        "threads, with its date. Every run of bench and profile adds to these times. Calibration records are left out "
        "of --last, export and report unless a filter names their sweep or run. Takes the options of bench: --model "
        "gpt2-124M adds the ops of that model, --threads N measures with N threads.",
    .options = [] { return with_defaults(answer_options({}, "sort verbose"), calibration_sweep()); },
    .parse = action_of<parse_calibrate, run_calibrate>,
};

constinit const Command kPoint{
    .name = "point",
    .arguments = "",
    .summary = "run one point of a sweep that runs on another machine (used by --launcher)",
    .details =
        "laptime bench --launcher runs this command on each machine that the launcher chooses. The command reads the "
        "point from standard input and writes progress and the record to standard output.",
    .parse = [](const CommandWords&) { return CommandAction(run_point); },
};

}  // namespace laptime
