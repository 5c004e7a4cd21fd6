// Compares A with B: measures both in turn (two values of an option, two builds, or one point against itself), or pairs
// the records of two files by name.
#include <algorithm>
#include <array>
#include <utility>

#include "analysis/compared_points.h"
#include "base/error.h"
#include "base/words.h"
#include "cli/command.h"
#include "cli/inputs.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/rounds.h"
#include "config/label.h"
#include "config/ready_sweeps.h"
#include "data/json_documents.h"
#include "distribution/paired_ratio.h"
#include "export/formats.h"
#include "report/comparison.h"
#include "report/point_text.h"
#include "sweep/sweep_points.h"

namespace laptime {
namespace {

struct CompareOptions {
  bool again = false;
  std::string program;
  std::string within = "1%";
  std::optional<std::string> fail_above;
  bool allow_missing = false;
  bool anyway = false;

  static void visit_fields(auto& self, auto&& visit) {
    const auto own = own_options("Comparison", visit);
    own("again", "compare A with itself to show noise", self.again);
    own("program", "compare two builds of laptime, given by their paths, at one point", self.program,
        {.otherwise = "this one", .value = "OLD,NEW"});
    own("within", "largest difference that does not matter; rounds end when the ratio is known to within half of this",
        self.within, {.value = "PERCENT", .canonical = unchanged<parse_percent>});
    own("fail-above", "exit with code 1 if B is slower by more than this, or with 3 if the result is undecided",
        self.fail_above, {.empty = "never", .value = "PERCENT", .canonical = unchanged<parse_percent>});
    own("allow-missing", "for two files: let --fail-above pass even if one file lacks some points", self.allow_missing);
    own("anyway", "for two files: also compare records of different work, machines or arithmetic", self.anyway);
  }

  double margin() const { return parse_percent("--within", within); }
};

std::vector<OptionRow> compare_options() {
  std::vector<OptionRow> rows = answer_options(option_rows<CompareOptions>(), "sort resume ablate label");
  for (OptionRow& row : rows) {
    if (row.option.flag == "verbose") row.option.help = "print every table in full, and the times of each round";
  }
  return rows;
}

struct CompareCommand {
  CompareOptions options;
  Sweep sweep;
  std::vector<std::string> files;              // two files of records, or none
  std::optional<ComparedPrograms> programs{};  // the programs of A and B; none: this program runs both
};

void reject_invalid(const SweepPoint& point, const std::string& side) {
  if (!point.invalid.empty()) throw Error::format("laptime compare: {}: {}", side, point.invalid);
}

// The names that distinguish A from B: "mode eager". Throws Error unless the options define exactly two sides.
std::array<std::string, 2> names_of_sides(const CompareCommand& command) {
  std::array<std::vector<std::string>, 2> names;
  for (const Axis& axis : command.sweep.axes) {
    if (axis.values.size() > 2) {
      throw Error::format("laptime compare: --{} has {} values, but a comparison takes two; leave some out", axis.flag,
                          axis.values.size());
    }
    for (size_t i = 0; i < 2 && axis.values.size() == 2; ++i)
      names.at(i).push_back(fmt::format("{} {}", axis.flag, axis.values[i]));
  }
  const bool is_one_point = command.options.again || command.programs;
  if (is_one_point && !names[0].empty()) {
    throw Error::format("laptime compare: --{} applies to a single point; leave it out, or give every option one value",
                        command.programs ? "program" : "again");
  }
  if (!is_one_point && names[0].empty()) {
    throw Error(
        "laptime compare: nothing to compare; give an option two values (--mode eager,compile), name two files of "
        "records, or compare a point with itself (--again)");
  }
  if (command.options.again) return {"the point", "the same point"};
  if (command.programs) return {command.programs->a, command.programs->b};
  return {joined(names[0], ", "), joined(names[1], ", ")};
}

// Decides according to --fail-above whether the comparison passes; if not, prints the reason on standard error.
class Gate {
 public:
  explicit Gate(const CompareOptions& options) {
    if (options.fail_above) limit_ = parse_percent("--fail-above", *options.fail_above);
  }

  // `point` is the start of the message: "'step/...': ".
  void judge(const std::string& point, double ratio, const std::optional<Interval>& interval) {
    if (!limit_) return;
    const double percent = 100 * *limit_;
    if (interval && interval->low > 1 && ratio > 1 + *limit_) {
      code_ = ExitCode::kFailed;
      print_message(fmt::format("{}B is slower by {:.2f} %; the limit is {:.3g} %", point, 100 * (ratio - 1), percent));
    } else if (!interval) {
      reject(fmt::format("{}too few measurements to say whether B is slower by more than {:.3g} %; measure longer",
                         point, percent));
    } else if (interval->high > 1 + *limit_) {
      reject(
          fmt::format("{}B takes {:.3f} to {:.3f} times as long as A, so B may or may not be slower by more than "
                      "{:.3g} %; measure longer",
                      point, interval->low, interval->high, percent));
    }
  }
  void reject(const std::string& message) {
    if (limit_ && code_ == ExitCode::kOk) code_ = ExitCode::kUndecided;
    print_message(message);
  }
  bool is_set() const { return limit_.has_value(); }
  ExitCode code() const { return code_; }

 private:
  std::optional<double> limit_;
  ExitCode code_ = ExitCode::kOk;
};

ExitCode run_rounds(const CompareCommand& command, const RankPipes& ranks) {
  const OutputConfig& config = command.sweep.output;
  if (command.programs)
    reject_overwriting({"--output-file", config.output_file},
                       {{"a compared program", command.programs->a}, {"a compared program", command.programs->b}});
  const std::array<std::string, 2> names = names_of_sides(command);
  std::vector<SweepPoint> sides;
  for (size_t i = 0; i < 2; ++i) {
    Sweep side = command.sweep;
    for (Axis& axis : side.axes) axis.values = {axis.values[std::min(i, axis.values.size() - 1)]};
    sides.push_back(points_of(side).front());
    reject_invalid(sides[i], names.at(i));
  }
  if (const Pass a = sides[0].config.pass, b = sides[1].config.pass; a != b)
    throw Error::format(
        "laptime compare: --pass {},{}: two passes do different work, so their ratio does not say which is faster; "
        "give one pass, or measure both with laptime bench",
        name_of(a), name_of(b));
  const std::vector<ResolvedPoint> points = checked_points(command.sweep, sides);
  for (size_t i = 0; i < 2; ++i) reject_invalid(points[i], names.at(i));
  const std::string& name = points[0].name;
  AnswerOutput output(config);
  const RoundsRequest request{
      .a = points[0],
      .b = points[1],
      .programs = command.programs,
      .names = {names[0], names[1], name == points[1].name ? name : common_words({name, points[1].name})},
      .margin = command.options.margin(),
      .budget = Seconds{2 * points[0].config.budget},
      .store = command.programs ? std::nullopt : store_for(config),
      .run_name = std::string(kCompareSweep),
      .ranks = ranks};
  const Rounds rounds = measure_rounds(request);
  PointAnswer answer{.name = request.names.point};
  if (!rounds.rounds.empty()) {
    answer = comparison_answer(request.names, rounds.rounds, request.margin, config.verbose);
    if (request.a.is_predicted() || request.b.is_predicted()) answer.say(std::string(kPredictedLine));
  }
  if (!rounds.failure.empty()) {
    answer.status = name_of(Status::kFailed);
    answer.reason = rounds.failure;
    answer.parts.insert(answer.parts.begin(), AnswerPart{.line = rounds.failure});
  }
  until_reader_goes([&] {
    if (!answer.parts.empty()) output.add(std::move(answer));
    output.finish();
  });
  Gate gate(command.options);
  if (rounds.code == ExitCode::kOk) {
    const PairedRatio ratio = ratio_of(rounds.rounds);
    gate.judge("", ratio.ratio, ratio.interval);
    return gate.code();
  }
  if (rounds.code != ExitCode::kFailed || rounds.failure.empty() || !gate.is_set()) return rounds.code;
  gate.reject(rounds.failure);
  return gate.code();
}

bool has_samples(const Record& record) {
  return record.status == Status::kOk && record.main_time() != nullptr && !record.main_time()->samples.empty();
}

// Groups records by point. Records of a point have the same name, label, build and options, and are from different
// processes.
MeasuredPoints read_points(const std::string& path) {
  const DocumentFile file{
      .path = path,
      .purpose = "record file",
      .advice = "give records written by `laptime bench --output json` or `--output jsonl --columns all`",
      .limit = int64_t{1} << 30U};
  if (is_store(path))
    throw Error::format("{} is a store; write its records with laptime export jsonl, and name that file", quote(path));
  const std::vector<Record> records = read_records(file);
  if (records.empty()) throw Error::format("{} contains no records; {}", text_of(file), file.advice);
  MeasuredPoints found{.origin = quote(path)};
  RecordPointers timed;
  for (const Record& record : records) {
    if (has_samples(record)) timed.push_back(&record);
  }
  const std::vector<std::string> distinct = distinctions(timed);
  for (size_t i = 0; i < timed.size(); ++i) {
    const std::string name = timed[i]->name + distinct[i];
    auto point = std::ranges::find(found.points, name, &MeasuredPoint::name);
    if (point == found.points.end()) point = found.points.insert(point, {name});
    point->processes.push_back(*timed[i]);
  }
  for (const Record& record : records) {
    if (has_samples(record)) continue;
    bool is_known = false;
    for (MeasuredPoint& point : found.points) {
      if ((point.processes.empty() ? point.name : point.processes.front().name) != record.name) continue;
      if (!point.failed) point.failed = record;
      is_known = true;
    }
    if (!is_known) found.points.push_back({record.name, {}, record});
  }
  return found;
}

ExitCode run_files(const CompareCommand& command) {
  reject_overwriting({"--output-file", command.sweep.output.output_file},
                     {{"a compared file", command.files[0]}, {"a compared file", command.files[1]}});
  AnswerOutput output(command.sweep.output);
  const MeasuredPoints a = read_points(command.files[0]);
  const MeasuredPoints b = read_points(command.files[1]);
  const ComparedPoints compared = compare_points(a, b, command.options.anyway);
  output.end(
      stored_comparison_answer(a.origin, b.origin, compared.pairs, command.options.margin(), compared.confidence));
  Gate gate(command.options);
  bool has_ratio = false;
  for (const StoredPair& pair : compared.pairs) {
    has_ratio = has_ratio || pair.ratio;
    const std::string point = fmt::format("'{}': ", pair.spoken());
    const bool is_missing = pair.unjudged == kMissing;
    if (pair.unjudged.empty()) {
      gate.judge(point, pair.ratio.value_or(0), pair.interval);
    } else if (!is_missing || !command.options.allow_missing) {
      gate.reject(point + pair.reason +
                  (is_missing && gate.is_set() ? "; use --allow-missing to pass without it" : ""));
    }
  }
  return has_ratio ? gate.code() : ExitCode::kUndecided;
}

// If two files are compared, rejects options that apply only when laptime runs the points. Otherwise, rejects options
// that apply only to files.
void reject_options_without_effect(const CommandWords& words) {
  for (const GivenFlag& given : words.flags) {
    const bool is_of_files = given.flag == "allow-missing" || given.flag == "anyway";
    const bool is_of_both = given.flag == "output" || given.flag == "output-file";
    const bool is_of_points =
        given.flag == "again" || given.flag == "config" || (is_among(given.flag, sweep_flags()) && !is_of_both);
    if (!words.positionals.empty() && is_of_points)
      throw Error::format(
          "laptime compare: --{} applies only when laptime runs the points; leave it out when comparing two files",
          given.flag);
    if (words.positionals.empty() && is_of_files)
      throw Error::format("laptime compare: --{} applies to two files of records; name them, or leave it out",
                          given.flag);
  }
}

// The two programs, and the bench options that describe the point, from the command line or the sweep file.
ComparedPrograms programs_of(const CompareCommand& command) {
  const std::vector<std::string> paths = split_list(command.options.program);
  if (paths.size() != 2)
    throw Error::format("laptime compare: --program {}: give two programs, OLD,NEW", quote(command.options.program));
  ComparedPrograms programs{.a = paths[0], .b = paths[1], .words = {}};
  for (const Axis& axis : command.sweep.axes) {
    if (axis.flag != "budget") programs.words.push_back(fmt::format("--{}={}", axis.flag, joined(axis.values, ",")));
  }
  return programs;
}

CompareCommand parse_compare(const CommandWords& words) {
  CompareCommand command{
      .options = given_options<CompareOptions>(words), .sweep = given_sweep(words), .files = words.positionals};
  if (command.sweep.output.ablate)
    throw Error(
        "laptime compare: the --config file sets ablate, which compares many variants; run it with laptime bench");
  if (!command.options.program.empty()) {
    if (!command.files.empty() || command.options.again)
      throw Error("laptime compare: --program compares two builds at one point; leave out the files and --again");
    command.programs = programs_of(command);
  }
  if (!command.files.empty() && command.files.size() != 2) {
    throw Error::format("laptime compare: {}, but a comparison takes two: laptime compare A.json B.json",
                        counted(command.files.size(), "file"));
  }
  reject_options_without_effect(words);
  return command;
}

ExitCode run_compare(const CompareCommand& command, const RankPipes& ranks) {
  return command.files.empty() ? run_rounds(command, ranks) : run_files(command);
}

}  // namespace

constinit const Command kCompare{
    .name = "compare",
    .arguments = "[A.json] [B.json] [OPTIONS]",
    .summary = "compare A with B, measured in turn: the ratio, its interval, and where the difference comes from",
    .details =
        "Takes the options of bench; the option with two values defines A and B: laptime compare --mode eager,compile. "
        "Each round runs both in random order, each in a separate process. At least 8 rounds run; they end "
        "once the ratio is known to within half of --within, or once twice the time of --budget is spent. B is faster "
        "or slower if the 99 % interval of the ratio excludes 1 and extends beyond --within. --program measures one "
        "point with two builds. "
        "Two files of records, as bench --output json or peers/run writes them, are matched by name; records with the "
        "same name are one point.",
    .options = compare_options,
    .parse = action_of<parse_compare, run_compare>,
};

}  // namespace laptime
