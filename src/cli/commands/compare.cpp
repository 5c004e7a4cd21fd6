// A against B: two values of an option, measured in turn in processes of their own, or the records of two files.
#include "cli/commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/words.h"
#include "cli/answer_output.h"
#include "cli/command.h"
#include "cli/compared_files.h"
#include "cli/rounds.h"
#include "cli/run_watched.h"
#include "cli/sweep_words.h"
#include "cli/terminal.h"
#include "cli/user_store.h"
#include "config/sweep.h"
#include "distribution/paired_ratio.h"
#include "report/comparison.h"
#include "report/names.h"
#include "sweep/sweep_points.h"

namespace laptime {
namespace {

constexpr std::string_view kRunName = "compare";  // of the command, and of its records

struct CompareOptions {
  bool again = false;
  std::string program;
  std::string within = "1%";
  std::optional<std::string> fail_above;
  bool allow_missing = false;
  bool anyway = false;

  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    constexpr std::string_view kGroup = "Comparison";
    visit(own_option(kGroup, "again", "compare A with itself to show noise"), self.again);
    visit(Option{.flag = "program",
                 .key = "program",
                 .group = kGroup,
                 .help = "compare two builds of laptime, each by its path, at one point",
                 .otherwise = "this one",
                 .axis = false,
                 .value = "OLD,NEW"},
          self.program);
    visit(Option{.flag = "within",
                 .key = "within",
                 .group = kGroup,
                 .help = "a difference that does not matter; rounds end when the ratio is known to half of it",
                 .axis = false,
                 .value = "PERCENT",
                 .canonical = canonical_percent},
          self.within);
    visit(Option{.flag = "fail-above",
                 .key = "fail_above",
                 .group = kGroup,
                 .help = "exit code 1 if B is slower by more than this, 3 if that cannot be judged",
                 .empty = "never",
                 .axis = false,
                 .value = "PERCENT",
                 .canonical = canonical_percent},
          self.fail_above);
    visit(own_option(kGroup, "allow-missing", "of two files: --fail-above also passes with points that one file lacks"),
          self.allow_missing);
    visit(own_option(kGroup, "anyway", "of two files: compare records of different machines or arithmetic too"),
          self.anyway);
  }

  double margin() const { return parse_percent("--within", within); }
};

std::vector<OptionRow> compare_options() {
  std::vector<OptionRow> rows = option_rows<CompareOptions>();
  for (OptionRow& row : sweep_options()) rows.push_back(std::move(row));
  leave_out_options_of_rows(rows);
  keep_formats_of_answers(rows);
  for (OptionRow& row : rows) {
    if (row.option.flag == "verbose") row.option.help = "print every table whole, and the times of each round";
  }
  return rows;
}

struct CompareCommand {
  CompareOptions options;
  Sweep sweep;
  std::vector<std::string> files;              // two files of records, or none
  std::optional<ComparedPrograms> programs{};  // none: this one
};

struct Side {
  SweepPoint point;
  std::string name;  // "mode eager"
};

// One value of each option: the first of two for A, the second for B.
Sweep side_sweep(const Sweep& sweep, size_t side) {
  Sweep one = sweep;
  for (Axis& axis : one.axes) {
    if (axis.values.size() > 1) axis.values = {axis.values[side]};
  }
  return one;
}

std::array<Side, 2> sides_of(const CompareCommand& command) {
  std::array<Side, 2> sides;
  std::array<std::vector<std::string>, 2> names;
  for (const Axis& axis : command.sweep.axes) {
    if (axis.values.size() > 2) {
      throw Error::format("laptime compare: --{} has {} values, and a comparison is of two; leave some out", axis.flag,
                          axis.values.size());
    }
    for (size_t i = 0; i < 2 && axis.values.size() == 2; ++i)
      names.at(i).push_back(fmt::format("{} {}", axis.flag, axis.values[i]));
  }
  const bool is_one_point = command.options.again || command.programs;
  if (is_one_point && !names[0].empty()) {
    throw Error::format("laptime compare: --{} is of one point; leave it out, or give every option one value",
                        command.programs ? "program" : "again");
  }
  if (!is_one_point && names[0].empty()) {
    throw Error(
        "laptime compare: nothing to compare; give an option two values (--mode eager,compile), name two files of "
        "records, or compare a point with itself (--again)");
  }
  if (command.options.again) names = {std::vector<std::string>{"once"}, {"again"}};
  if (command.programs) names = {std::vector{command.programs->a}, std::vector{command.programs->b}};
  for (size_t i = 0; i < 2; ++i) {
    const std::vector<SweepPoint> points = points_of(side_sweep(command.sweep, i));
    sides.at(i) = {points.front(), joined(names.at(i), ", ")};
    if (!points.front().invalid.empty())
      throw Error::format("laptime compare: {}: {}", sides.at(i).name, points.front().invalid);
  }
  return sides;
}

// Decides by --fail-above, and says on standard error why it does not pass.
class Gate {
 public:
  explicit Gate(const CompareOptions& options) : margin_(options.margin()) {
    if (options.fail_above) limit_ = parse_percent("--fail-above", *options.fail_above);
  }

  // `point` begins the message: "'step/...': ".
  void judge(const std::string& point, double ratio, const std::optional<Interval>& interval) {
    if (!limit_) return;
    const Difference difference = difference_of(interval, margin_);
    if (difference == Difference::kSlower && ratio > 1 + *limit_) {
      is_slower_ = true;
      print_message(
          fmt::format("{}B is slower by {:.2f} %, more than {:.3g} %", point, 100 * (ratio - 1), 100 * *limit_));
    } else if (!interval) {
      reject(fmt::format("{}there are too few measurements to say whether B is slower by more than {:.3g} %", point,
                         100 * *limit_));
    } else if (difference != Difference::kSame && interval->high > 1 + *limit_) {
      reject(
          fmt::format("{}B takes {:.3f} to {:.3f} times the time of A, which does not say whether it is slower by "
                      "more than {:.3g} %; measure longer",
                      point, interval->low, interval->high, 100 * *limit_));
    }
  }
  void reject(const std::string& message) {
    if (!limit_) return;
    is_undecided_ = true;
    print_message(message);
  }
  bool is_set() const { return limit_.has_value(); }
  ExitCode code() const {
    if (is_slower_) return ExitCode::kFailed;
    return is_undecided_ ? ExitCode::kUndecided : ExitCode::kOk;
  }

 private:
  double margin_;
  std::optional<double> limit_;
  bool is_slower_ = false;
  bool is_undecided_ = false;
};

ExitCode run_rounds(const CompareCommand& command) {
  const OutputConfig& config = command.sweep.output;
  const std::array<Side, 2> sides = sides_of(command);
  RoundsRequest request{.a = {},
                        .b = {},
                        .names = {sides[0].name, sides[1].name, {}},
                        .margin = command.options.margin(),
                        .budget = Seconds{2 * sides[0].point.config.budget},
                        .run_name = std::string(kRunName)};
  request.programs = command.programs;
  request.names.point = sides[0].point.name == sides[1].point.name
                            ? sides[0].point.name
                            : common_words({sides[0].point.name, sides[1].point.name});
  const std::vector<SweepPoint> both{sides[0].point, sides[1].point};
  reject_overwriting(command.sweep, both, store_path(config.store));
  const std::vector<ResolvedPoint> points = check_inputs(both);
  for (size_t i = 0; i < points.size(); ++i) {
    if (!points[i].invalid.empty()) throw Error::format("laptime compare: {}: {}", sides.at(i).name, points[i].invalid);
  }
  request.a = points[0];
  request.b = points[1];
  AnswerOutput output(config);
  if (!command.programs) request.store = store_for(config);
  const Rounds rounds = measure_rounds(request);
  PointAnswer answer{.name = request.names.point};
  if (!rounds.rounds.empty()) answer = comparison_answer(request.names, rounds.rounds, request.margin, config.verbose);
  if (!rounds.failure.empty()) {
    answer.status = name_of(Status::kFailed);
    answer.reason = rounds.failure;
    answer.parts.insert(answer.parts.begin(), AnswerPart{.lines = {rounds.failure}});
  }
  if (!answer.parts.empty()) output.add(std::move(answer));
  output.finish();
  Gate gate(command.options);
  if (rounds.code == ExitCode::kFailed && !rounds.failure.empty() && gate.is_set()) {
    gate.reject(rounds.failure);
    return gate.code();
  }
  if (rounds.code != ExitCode::kOk) return rounds.code;
  const PairedRatio ratio = ratio_of(rounds.rounds);
  gate.judge("", ratio.ratio, ratio.interval);
  return gate.code();
}

ExitCode run_files(const CompareCommand& command) {
  AnswerOutput output(command.sweep.output);
  const ComparedFiles compared = compare_files(command.files[0], command.files[1], command.options.anyway);
  output.add(stored_comparison_answer(quote(command.files[0]), quote(command.files[1]), compared.pairs,
                                      command.options.margin(), compared.confidence));
  output.finish();
  Gate gate(command.options);
  bool has_ratio = false;
  for (const StoredPair& pair : compared.pairs) {
    has_ratio = has_ratio || pair.ratio;
    const std::string point = fmt::format("'{}': ", spoken_name(pair.name));
    if (pair.unjudged.empty()) {
      gate.judge(point, pair.ratio.value_or(0), pair.interval);
    } else if (pair.unjudged == kMissing && command.options.allow_missing) {
      continue;
    } else if (gate.is_set()) {
      gate.reject(fmt::format("{}{}{}", point, pair.reason,
                              pair.unjudged == kMissing ? "; --allow-missing passes without it" : ""));
    } else {
      print_message(point + pair.reason);
    }
  }
  return has_ratio ? gate.code() : ExitCode::kUndecided;
}

// Options that say what to run mean nothing where two files are compared.
void reject_options_of_rounds(const CommandWords& words) {
  constexpr std::array<std::string_view, 2> kOfOutput{"output", "output-file"};
  const std::vector<std::string_view> of_sweeps = sweep_flags();
  for (const GivenFlag& given : words.flags) {
    const bool is_of_run = std::find(of_sweeps.begin(), of_sweeps.end(), given.flag) != of_sweeps.end();
    if (is_of_run && std::find(kOfOutput.begin(), kOfOutput.end(), given.flag) == kOfOutput.end())
      throw Error::format("laptime compare: --{} is for points that run, and two files have run; leave it out",
                          given.flag);
  }
}

// The options that name the point, for another program's bench.
ComparedPrograms programs_of(const CompareOptions& options, const CommandWords& words) {
  constexpr std::array<std::string_view, 5> kOwn{"output", "output-file", "store", "budget", "verbose"};
  const std::vector<std::string> paths = split_list(options.program);
  if (paths.size() != 2) {
    throw Error::format("laptime compare: --program {}: give two programs, OLD,NEW", quote(options.program));
  }
  ComparedPrograms programs{.a = paths[0], .b = paths[1], .words = {}};
  std::vector<std::string_view> passed_on = sweep_flags();
  passed_on.emplace_back("config");
  for (const GivenFlag& given : words.flags) {
    const bool is_of_point = std::find(passed_on.begin(), passed_on.end(), given.flag) != passed_on.end() &&
                             std::find(kOwn.begin(), kOwn.end(), given.flag) == kOwn.end();
    if (is_of_point) programs.words.push_back(fmt::format("--{}={}", given.flag, given.text));
  }
  return programs;
}

CompareCommand parse_compare(const CommandWords& words) {
  CompareCommand command{
      .options = given_options<CompareOptions>(words), .sweep = given_sweep(words), .files = words.positionals};
  if (!command.options.program.empty()) {
    if (!command.files.empty() || command.options.again)
      throw Error("laptime compare: --program is of two builds at one point; leave out the files and --again");
    command.programs = programs_of(command.options, words);
  }
  if (command.files.empty()) return command;
  if (command.files.size() != 2) {
    throw Error::format("laptime compare: {}, and a comparison is of two: laptime compare A.json B.json",
                        counted(command.files.size(), "file"));
  }
  reject_options_of_rounds(words);
  return command;
}

CommandAction compare_action(const CommandWords& words) {
  return [command = parse_compare(words)] { return command.files.empty() ? run_rounds(command) : run_files(command); };
}

}  // namespace

constinit const Command kCompare{
    .name = kRunName,
    .arguments = "[A.json] [B.json] [OPTIONS]",
    .summary = "A against B, measured in turn: a ratio with its interval, and where the difference comes from",
    .details =
        "Takes the options of bench; those given two values make A and B: laptime compare --mode eager,compile. Each "
        "round runs A and B in an order that is drawn, each in a process of its own. Rounds go on until the ratio is "
        "known to half of --within, or the budget of both points (twice --budget) is spent; there are at least 8. B is "
        "called faster or slower where the 99 % interval of the ratio excludes 1 and goes beyond --within. --program "
        "takes "
        "two builds instead, and measures one point with each. With two files, stored records are compared: what bench "
        "--output json or peers/run wrote, matched by name; records of one name are runs of one point.",
    .options = compare_options,
    .parse = compare_action,
};

}  // namespace laptime
