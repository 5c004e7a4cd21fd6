// A against B: two values of an option, measured in turn in processes of their own, or the records of two files, whose
// points are paired by name.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/words.h"
#include "cli/command.h"
#include "cli/inputs.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/rounds.h"
#include "data/json_documents.h"
#include "distribution/paired_ratio.h"
#include "distribution/process_ratio.h"
#include "distribution/verdict.h"
#include "export/formats.h"
#include "record/time_stats.h"
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
    visit(own_option(kGroup, "program", "compare two builds of laptime, each by its path, at one point",
                     {.otherwise = "this one", .value = "OLD,NEW"}),
          self.program);
    visit(own_option(kGroup, "within",
                     "a difference that does not matter; rounds end when the ratio is known to half of it",
                     {.value = "PERCENT", .canonical = canonical_percent}),
          self.within);
    visit(own_option(kGroup, "fail-above", "exit code 1 if B is slower by more than this, 3 if that cannot be judged",
                     {.empty = "never", .value = "PERCENT", .canonical = canonical_percent}),
          self.fail_above);
    visit(own_option(kGroup, "allow-missing", "of two files: --fail-above also passes with points that one file lacks"),
          self.allow_missing);
    visit(own_option(kGroup, "anyway", "of two files: compare records of different machines or arithmetic too"),
          self.anyway);
  }

  double margin() const { return parse_percent("--within", within); }
};

std::vector<OptionRow> compare_options() {
  std::vector<OptionRow> rows =
      answer_options(option_rows<CompareOptions>(), {"sort", "quiet", "resume", "ablate", "label"});
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

void reject_invalid(const SweepPoint& point, const std::string& side) {
  if (!point.invalid.empty()) throw Error::format("laptime compare: {}: {}", side, point.invalid);
}

// One value of each option: the first of two for A, the second for B.
Sweep side_sweep(const Sweep& sweep, size_t side) {
  Sweep one = sweep;
  for (Axis& axis : one.axes) {
    if (axis.values.size() > 1) axis.values = {axis.values[side]};
  }
  return one;
}

// The names that tell A from B: "mode eager".
std::array<std::string, 2> names_of_sides(const CompareCommand& command) {
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
  if (command.options.again) return {"once", "again"};
  if (command.programs) return {command.programs->a, command.programs->b};
  return {joined(names[0], ", "), joined(names[1], ", ")};
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
    const std::string limit = fmt::format("slower by more than {:.3g} %", 100 * *limit_);
    if (difference == Difference::kSlower && ratio > 1 + *limit_) {
      code_ = ExitCode::kFailed;
      print_message(
          fmt::format("{}B is slower by {:.2f} %, more than {:.3g} %", point, 100 * (ratio - 1), 100 * *limit_));
    } else if (!interval) {
      reject(fmt::format("{}there are too few measurements to say whether B is {}", point, limit));
    } else if (difference != Difference::kSame && interval->high > 1 + *limit_) {
      reject(fmt::format(
          "{}B takes {:.3f} to {:.3f} times the time of A, which does not say whether it is {}; measure longer", point,
          interval->low, interval->high, limit));
    }
  }
  void reject(const std::string& message) {
    if (!limit_) return;
    if (code_ == ExitCode::kOk) code_ = ExitCode::kUndecided;
    print_message(message);
  }
  bool is_set() const { return limit_.has_value(); }
  ExitCode code() const { return code_; }

 private:
  double margin_;
  std::optional<double> limit_;
  ExitCode code_ = ExitCode::kOk;
};

ExitCode run_rounds(const CompareCommand& command) {
  const OutputConfig& config = command.sweep.output;
  const std::array<std::string, 2> names = names_of_sides(command);
  std::vector<SweepPoint> sides;
  for (size_t i = 0; i < 2; ++i) {
    sides.push_back(points_of(side_sweep(command.sweep, i)).front());
    reject_invalid(sides[i], names.at(i));
  }
  const std::vector<ResolvedPoint> points = checked_points(command.sweep, sides);
  for (size_t i = 0; i < 2; ++i) reject_invalid(points[i], names.at(i));
  const std::string& name = points[0].name;
  RoundsRequest request{
      .a = points[0],
      .b = points[1],
      .programs = command.programs,
      .names = {names[0], names[1], name == points[1].name ? name : common_words({name, points[1].name})},
      .margin = command.options.margin(),
      .budget = Seconds{2 * points[0].config.budget},
      .store = {},
      .run_name = std::string(kRunName)};
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

// A point of a file. Records of one name that differ in label, build or an option are different points.
struct Group {
  std::string name;
  std::vector<Record> processes;  // that have times
  std::optional<Record> failed;   // the first that has none
};

std::vector<Group> read_groups(const std::string& path) {
  std::vector<Group> groups;
  const DocumentFile file{.path = path,
                          .purpose = "file of records",
                          .advice = "give records written by `laptime bench --output json`",
                          .limit = int64_t{1} << 30U};
  std::vector<Record> records = read_records(file);
  const auto failed = std::stable_partition(records.begin(), records.end(), [](const Record& record) {
    const TimeStats* const time = record.main_time();
    return record.status == Status::kOk && time != nullptr && !time->samples.empty();
  });
  RecordPointers timed;
  for (auto record = records.begin(); record != failed; ++record) timed.push_back(&*record);
  const std::vector<std::string> distinct = distinctions(timed);
  for (size_t i = 0; i < timed.size(); ++i) {
    const std::string name = timed[i]->name + distinct[i];
    auto group = std::find_if(groups.begin(), groups.end(), [&](const Group& known) { return known.name == name; });
    if (group == groups.end()) group = groups.insert(groups.end(), Group{name, {}, {}});
    group->processes.push_back(*timed[i]);
  }
  for (auto record = failed; record != records.end(); ++record) {
    bool is_known = false;
    for (Group& group : groups) {
      const bool is_same = (group.processes.empty() ? group.name : group.processes.front().name) == record->name;
      if (is_same && !group.failed) group.failed = *record;
      is_known = is_known || is_same;
    }
    if (!is_known) groups.push_back({record->name, {}, *record});
  }
  if (groups.empty()) throw Error::format("{} has no record; {}", text_of(file), file.advice);
  return groups;
}

bool is_predicted(const Group& group) { return group.processes.front().verdict.rating == kPredicted; }

// Error where times of the groups cannot be compared at all.
void require_alike(const Group& a, const Group& b) {
  const auto refuse = [&](const std::string& why) {
    throw Error::format("laptime compare: {}: {}; --anyway compares them all the same", quote(a.name), why);
  };
  const Record& of_a = a.processes.front();
  for (const Group* const group : {&a, &b}) {
    for (const Record& record : group->processes) {
      if ((record.verdict.rating == kPredicted) != is_predicted(a)) refuse("one is predicted, the other measured");
      if (record.fingerprint != of_a.fingerprint) refuse("they were measured on different machines");
      if (record.math_mode != of_a.math_mode)
        refuse(fmt::format("their arithmetic is {} and {}", of_a.math_mode, record.math_mode));
    }
  }
}

std::vector<std::vector<double>> samples_of(const Group& group) {
  std::vector<std::vector<double>> samples;
  samples.reserve(group.processes.size());
  for (const Record& record : group.processes) samples.push_back(record.main_time()->samples);
  return samples;
}

// The median over all samples, as people know it from the records.
std::optional<double> median_of(const Group& group) {
  if (group.processes.empty()) return std::nullopt;
  std::vector<double> all;
  for (const Record& record : group.processes)
    all.insert(all.end(), record.main_time()->samples.begin(), record.main_time()->samples.end());
  return make_time_stats(all).median;
}

// The reason why the verdicts of the records forbid a decision; empty if they do not. With kFewestProcesses or more the
// interval contains the spread that makes a record unstable, but not a drift within each of them.
std::string doubt(const Group& group) {
  const bool is_spread_known = std::ssize(group.processes) >= kFewestProcesses;
  const auto count = [&](Stability stability) {
    return std::count_if(group.processes.begin(), group.processes.end(),
                         [&](const Record& record) { return record.verdict.rating == name_of(stability); });
  };
  const int64_t drifting = count(Stability::kNoSteadyState);
  const int64_t unstable = is_spread_known ? 0 : count(Stability::kUnstable);
  if (2 * (drifting + unstable) < std::ssize(group.processes)) return "";
  return fmt::format("{} of {} records {}, by their own verdict", drifting + unstable, group.processes.size(),
                     drifting >= unstable ? "found no steady state" : "are unstable");
}

void set_unjudged(StoredPair& pair, std::string_view word, std::string reason) {
  if (!pair.unjudged.empty()) return;
  pair.unjudged = word;
  pair.reason = std::move(reason);
}

// "B failed: the step ended ...".
void note_failure(StoredPair& pair, std::string_view side, const Group& group) {
  if (!group.failed) return;
  const Record& record = *group.failed;
  const bool is_ok = record.status == Status::kOk;
  const std::string_view word = is_ok ? "failed" : name_of(record.status);
  set_unjudged(pair, word,
               fmt::format("{}: {}", side,
                           is_ok ? "the record has no samples"
                                 : fmt::format("{}{}{}", word, record.reason.empty() ? "" : ": ", record.reason)));
}

StoredPair pair_of(const Group& a, const Group& b, double error, bool anyway) {
  StoredPair pair{.name = a.name == b.name ? a.name : fmt::format("{} and {}", a.name, b.name),
                  .a = median_of(a),
                  .b = median_of(b),
                  .a_processes = std::ssize(a.processes),
                  .b_processes = std::ssize(b.processes)};
  note_failure(pair, "B", b);
  note_failure(pair, "A", a);
  if (a.processes.empty() || b.processes.empty()) return pair;
  if (!anyway) require_alike(a, b);
  const std::optional<ProcessRatio> ratio = process_ratio(samples_of(a), samples_of(b), error);
  if (!ratio) {
    set_unjudged(pair, "failed", "a sample takes no time");
    return pair;
  }
  pair.ratio = ratio->ratio;
  pair.interval = is_predicted(a) && is_predicted(b) ? Interval{ratio->ratio, ratio->ratio} : ratio->interval;
  if (!pair.interval) {
    set_unjudged(
        pair, "undecided",
        fmt::format("fewer than {} samples; measure more steps, or the points several times", kFewestForInterval));
  }
  for (const auto& [side, group] : {std::pair{"B", &b}, std::pair{"A", &a}}) {
    if (const std::string why = doubt(*group); !why.empty())
      set_unjudged(pair, "undecided", fmt::format("{}: {}", side, why));
  }
  return pair;
}

StoredPair missing(const Group& present, bool in_a, const std::string& path_of_other) {
  StoredPair pair{.name = present.name};
  (in_a ? pair.a : pair.b) = median_of(present);
  (in_a ? pair.a_processes : pair.b_processes) = std::ssize(present.processes);
  set_unjudged(pair, kMissing,
               fmt::format("{} has no such point: {} lacks it", in_a ? "B" : "A", quote(path_of_other)));
  return pair;
}

struct ComparedFiles {
  std::vector<StoredPair> pairs;
  double confidence = 0;  // of the intervals
};

// Records of one name in one file are processes of one point. Where each file has a single name, these two are a pair,
// whatever their names. A point of one file alone is a pair that is missing on the other side. The interval of a ratio
// excludes the true one once in a hundred comparisons, and with more than five points as often as keeps it to one in
// twenty for all of them together. Error if a file has no records, if the files share no point, and, unless `anyway`,
// where two records differ in machine or arithmetic.
ComparedFiles compare_files(const std::string& a, const std::string& b, bool anyway) {
  constexpr double kErrorOfOne = 0.01;
  constexpr double kErrorOfAll = 0.05;
  const std::vector<Group> first = read_groups(a);
  std::vector<Group> second = read_groups(b);
  const bool is_one_each = first.size() == 1 && second.size() == 1;
  const double error = std::min(kErrorOfOne, kErrorOfAll / static_cast<double>(first.size()));
  ComparedFiles compared{.pairs = {}, .confidence = 1 - error};
  std::vector<StoredPair>& pairs = compared.pairs;
  bool has_match = false;
  for (const Group& group : first) {
    const auto match = std::find_if(second.begin(), second.end(),
                                    [&](const Group& other) { return is_one_each || other.name == group.name; });
    if (match == second.end()) {
      pairs.push_back(missing(group, true, b));
      continue;
    }
    has_match = true;
    pairs.push_back(pair_of(group, *match, error, anyway));
    second.erase(match);
  }
  for (const Group& group : second) pairs.push_back(missing(group, false, a));
  if (!has_match) {
    throw Error::format("laptime compare: no record of {} has the name of one of {}; give records of the same points",
                        quote(a), quote(b));
  }
  return compared;
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

// Rejects options that describe points to run where two files are compared.
void reject_options_of_rounds(const CommandWords& words) {
  constexpr std::array<std::string_view, 2> kOfOutput{"output", "output-file"};
  for (const GivenFlag& given : words.flags) {
    if (is_of_sweep(given.flag) && std::find(kOfOutput.begin(), kOfOutput.end(), given.flag) == kOfOutput.end())
      throw Error::format("laptime compare: --{} is for points that run, and two files have run; leave it out",
                          given.flag);
  }
}

// Collects the options that describe the point, for the bench of another program.
ComparedPrograms programs_of(const CompareOptions& options, const CommandWords& words) {
  constexpr std::array<std::string_view, 5> kOwn{"output", "output-file", "store", "budget", "verbose"};
  const std::vector<std::string> paths = split_list(options.program);
  if (paths.size() != 2) {
    throw Error::format("laptime compare: --program {}: give two programs, OLD,NEW", quote(options.program));
  }
  ComparedPrograms programs{.a = paths[0], .b = paths[1], .words = {}};
  for (const GivenFlag& given : words.flags) {
    const bool is_passed_on = is_of_sweep(given.flag) || given.flag == "config";
    if (is_passed_on && std::find(kOwn.begin(), kOwn.end(), given.flag) == kOwn.end())
      programs.words.push_back(fmt::format("--{}={}", given.flag, given.text));
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
        "takes two builds instead, and measures one point with each. With two files, stored records are compared: what "
        "bench --output json or peers/run wrote, matched by name; records of one name are runs of one point.",
    .options = compare_options,
    .parse = compare_action,
};

}  // namespace laptime
