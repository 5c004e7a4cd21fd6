// A against B: two values of an option, measured in turn in processes of their own, or the records of two files.
#include "cli/commands/compare.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/words.h"
#include "cli/compared_files.h"
#include "cli/grid_output.h"
#include "cli/message.h"
#include "cli/percent.h"
#include "cli/rounds.h"
#include "cli/run_watched.h"
#include "cli/store_path.h"
#include "cli/sweep_words.h"
#include "cli/used_files.h"
#include "config/sweep.h"
#include "report/comparison.h"
#include "report/point_names.h"
#include "sweep/ablation.h"
#include "sweep/check_inputs.h"

namespace laptime {
namespace {

constexpr std::string_view kRunName = "compare";  // of the command, and of its records

struct CompareOptions {
  bool again = false;
  std::string within = "1%";
  std::optional<std::string> fail_above;
  bool anyway = false;

  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    constexpr std::string_view kGroup = "Comparison";
    visit(Option{.flag = "again",
                 .key = "again",
                 .group = kGroup,
                 .help = "A against itself: what the noise of the machine alone makes",
                 .axis = false},
          self.again);
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
                 .help = "exit code 1 where B is slower by more than this",
                 .empty = "never",
                 .axis = false,
                 .value = "PERCENT",
                 .canonical = canonical_percent},
          self.fail_above);
    visit(Option{.flag = "anyway",
                 .key = "anyway",
                 .group = kGroup,
                 .help = "of two files: compare records of different machines or arithmetic too",
                 .axis = false},
          self.anyway);
  }

  double margin() const { return parse_percent("--within", within); }
};

std::vector<OptionRow> compare_options() {
  std::vector<OptionRow> rows = option_rows<CompareOptions>();
  for (OptionRow& row : sweep_options()) rows.push_back(std::move(row));
  leave_out_options_of_rows(rows);
  keep_formats_of_grids(rows);
  return rows;
}

struct CompareCommand {
  CompareOptions options;
  Sweep sweep;
  std::vector<std::string> files;  // two files of records, or none
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
  if (command.options.again && !names[0].empty())
    throw Error("laptime compare: --again is of one point; leave it out, or give every option one value");
  if (!command.options.again && names[0].empty()) {
    throw Error(
        "laptime compare: nothing to compare; give an option two values (--mode eager,compile), name two files of "
        "records, or compare a point with itself (--again)");
  }
  if (command.options.again) names = {std::vector<std::string>{"once"}, {"again"}};
  for (size_t i = 0; i < 2; ++i) {
    const std::vector<SweepPoint> points = points_of(side_sweep(command.sweep, i));
    sides.at(i) = {points.front(), fmt::format("{}", fmt::join(names.at(i), ", "))};
    if (!points.front().invalid.empty())
      throw Error::format("laptime compare: {}: {}", sides.at(i).name, points.front().invalid);
  }
  return sides;
}

ExitCode exit_code_of(const CompareOptions& options, double ratio, bool is_slower) {
  if (!options.fail_above) return ExitCode::kOk;
  const double limit = parse_percent("--fail-above", *options.fail_above);
  if (!is_slower || ratio <= 1 + limit) return ExitCode::kOk;
  print_message(fmt::format("B is slower by {:.2f} %, more than {:.3g} %", 100 * (ratio - 1), 100 * limit));
  return ExitCode::kFailed;
}

ExitCode run_rounds(const CompareCommand& command) {
  const OutputConfig& config = command.sweep.output;
  const std::array<Side, 2> sides = sides_of(command);
  RoundsRequest request{.a = {},
                        .b = {},
                        .names = {sides[0].name, sides[1].name, {}},
                        .margin = command.options.margin(),
                        .budget = Seconds{2 * sides[0].point.config.budget},
                        .run_name = std::string(kRunName)};
  request.names.point =
      command.options.again ? sides[0].point.name : common_words({sides[0].point.name, sides[1].point.name});
  std::vector<SweepPoint> points{sides[0].point, sides[1].point};
  reject_overwriting(command.sweep, points, store_path(config.store));
  check_inputs(points);
  for (size_t i = 0; i < points.size(); ++i) {
    if (!points[i].invalid.empty()) throw Error::format("laptime compare: {}: {}", sides.at(i).name, points[i].invalid);
  }
  request.a = points[0];
  request.b = points[1];
  GridOutput output(config);
  request.store = store_for(config);
  const Rounds rounds = measure_rounds(request);
  if (!rounds.rounds.empty()) {
    PointReport report = comparison_report(request.names, rounds.rounds, request.margin);
    if (!rounds.failure.empty()) report.lines.insert(report.lines.begin(), rounds.failure);
    output.add(std::move(report));
  } else if (!rounds.failure.empty()) {
    output.add({.name = request.names.point, .lines = {rounds.failure}, .grids = {}});
  }
  output.finish();
  if (rounds.code != ExitCode::kOk) return rounds.code;
  const PairedRatio ratio = ratio_of(rounds.rounds);
  return exit_code_of(command.options, ratio.ratio, ratio.difference(request.margin) == Difference::kSlower);
}

ExitCode run_files(const CompareCommand& command) {
  GridOutput output(command.sweep.output);
  const ComparedFiles compared = compare_files(command.files[0], command.files[1], command.options.anyway);
  for (const std::string& message : compared.left_out) print_message(message);
  output.add(stored_comparison_report(quote(command.files[0]), quote(command.files[1]), compared.pairs,
                                      command.options.margin()));
  output.finish();
  ExitCode code = ExitCode::kOk;
  for (const StoredPair& pair : compared.pairs) {
    const bool is_slower = pair.ratio.interval && pair.ratio.interval->low > 1;
    if (is_slower && exit_code_of(command.options, pair.ratio.value, true) == ExitCode::kFailed)
      code = ExitCode::kFailed;
  }
  return code;
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

CompareCommand parse_compare(const CommandWords& words) {
  CompareCommand command{.options = {}, .sweep = starting_sweep(words, {}), .files = words.positionals};
  for (const GivenFlag& given : words.flags) assign_given(command.options, given);
  set_given(command.sweep, words);
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
        "called faster or slower where the 99 % interval of the ratio excludes 1 and goes beyond --within. With two "
        "files, stored records are compared: what bench --output json or peers/run wrote, matched by name.",
    .options = compare_options,
    .parse = compare_action,
};

}  // namespace laptime
