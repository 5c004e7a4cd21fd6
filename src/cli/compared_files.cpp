// Groups records by name, pairs the groups of two files, and says which pairs cannot be judged.
#include "cli/compared_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/words.h"
#include "distribution/process_ratio.h"
#include "distribution/verdict.h"
#include "export/formats.h"
#include "record/json_documents.h"
#include "record/time_stats.h"

namespace laptime {
namespace {

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

// Why the verdicts of the records forbid a decision; empty where they do not. From kFewestProcesses on their spread
// shows what makes a record unstable, and so the interval has it; a drift in each of them it does not have.
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

}  // namespace

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

}  // namespace laptime
