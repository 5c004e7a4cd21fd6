// Pairs points by name, and leaves a pair unjudged if its records, their verdicts or the number of samples do not allow
// a decision.
#include "analysis/compared_points.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "analysis/speedup.h"
#include "base/error.h"
#include "base/words.h"
#include "config/label.h"
#include "distribution/paired_ratio.h"
#include "distribution/process_ratio.h"
#include "distribution/verdict.h"

namespace laptime {
namespace {

// The machine that the times apply to. The fingerprint of a prediction names the machine that computed it instead.
std::string timed_machine(const Record& record) {
  return is_predicted(record) ? record.config.text("device") : record.fingerprint;
}

const Record& first_record(const MeasuredPoint& point) {
  return point.processes.empty() ? point.failed.value() : point.processes.front();
}

// Throws Error if two points with different names do different work.
void require_same_work(const MeasuredPoint& a, const MeasuredPoint& b) {
  if (a.name == b.name || work_of(first_record(a)) == work_of(first_record(b))) return;
  throw Error::format(
      "laptime compare: {} and {} differ in model, batch, context or pass; give records of the same work, or use "
      "--anyway to compare them regardless",
      quote(a.name), quote(b.name));
}

// Throws Error if the points' times are not comparable.
void require_alike(const MeasuredPoint& a, const MeasuredPoint& b) {
  const auto refuse = [&](const std::string& why) {
    throw Error::format("laptime compare: {}: {}; use --anyway to compare them regardless", quote(a.name), why);
  };
  const Record& first = a.processes.front();
  for (const MeasuredPoint* const point : {&a, &b}) {
    for (const Record& record : point->processes) {
      if (is_predicted(record) != is_predicted(first)) refuse("some records are predicted, others measured");
      if (timed_machine(record) != timed_machine(first)) refuse("the records are from different machines");
      if (record.math_mode != first.math_mode)
        refuse(fmt::format("the records differ in arithmetic: {} and {}", first.math_mode, record.math_mode));
    }
  }
}

// Returns the reason why the records' verdicts rule out a decision: at least half of the records drift or are unstable.
// Returns an empty string if they do not. With kFewestProcesses or more records, only drift counts, because the
// interval covers the spread of unstable records.
std::string doubt(const std::vector<Record>& processes) {
  const auto count = [&](Stability stability) {
    return std::ranges::count_if(processes,
                                 [&](const Record& record) { return record.verdict.rating == name_of(stability); });
  };
  const int64_t drifting = count(Stability::kNoSteadyState);
  const int64_t unstable = std::ssize(processes) >= kFewestProcesses ? 0 : count(Stability::kUnstable);
  if (2 * (drifting + unstable) < std::ssize(processes)) return "";
  std::vector<std::string> faults;
  if (drifting > 0) faults.emplace_back("did not reach a steady state");
  if (unstable > 0) faults.emplace_back("are unstable");
  return fmt::format("according to their verdicts, {} of {} records {}", drifting + unstable, processes.size(),
                     joined(faults, " or "));
}

// Sets the pair's word and reason, unless an earlier call has set them.
void set_unjudged(StoredPair& pair, std::string_view word, const std::string& reason) {
  if (!pair.unjudged.empty()) return;
  pair.unjudged = word;
  pair.reason = reason;
}

// Marks the pair as unjudged if one side has failed, with a reason such as "B: failed: the step ended ...".
void note_failure(StoredPair& pair, std::string_view side, const std::optional<Record>& failed) {
  if (!failed) return;
  if (failed->status == Status::kOk)
    return set_unjudged(pair, "failed", fmt::format("{}: the record has no samples", side));
  const std::string_view word = name_of(failed->status);
  set_unjudged(pair, word, fmt::format("{}: {}{}{}", side, word, failed->reason.empty() ? "" : ": ", failed->reason));
}

// Returns the samples of each process of one side, and stores the number of processes and the median of all samples in
// the pair.
std::vector<std::vector<double>> add_side(const MeasuredPoint& point, std::optional<double>& median,
                                          int64_t& processes) {
  std::vector<std::vector<double>> samples;
  std::vector<double> all;
  for (const Record& record : point.processes) {
    samples.push_back(record.main_time()->samples);
    all.insert(all.end(), samples.back().begin(), samples.back().end());
  }
  if (!all.empty()) median = make_time_stats(all).median;
  processes = std::ssize(point.processes);
  return samples;
}

StoredPair pair_of(const MeasuredPoint& a, const MeasuredPoint& b, double error, bool anyway) {
  if (!anyway) require_same_work(a, b);
  StoredPair pair{.name = a.name, .b_name = a.name == b.name ? "" : b.name};
  const std::vector<std::vector<double>> a_samples = add_side(a, pair.a, pair.a_processes);
  const std::vector<std::vector<double>> b_samples = add_side(b, pair.b, pair.b_processes);
  note_failure(pair, "B", b.failed);
  note_failure(pair, "A", a.failed);
  if (a.processes.empty() || b.processes.empty()) return pair;
  if (!anyway) require_alike(a, b);
  const std::optional<ProcessRatio> ratio = process_ratio(a_samples, b_samples, error);
  if (!ratio) {
    set_unjudged(pair, "failed", "a sample has a time of zero");
    return pair;
  }
  const bool is_exact = is_predicted(a.processes.front()) && is_predicted(b.processes.front());
  pair.ratio = ratio->ratio;
  pair.interval = is_exact ? Interval{ratio->ratio, ratio->ratio} : ratio->interval;
  if (!pair.interval) {
    set_unjudged(pair, "undecided",
                 fmt::format("fewer than {} samples; measure more steps, or measure the points several times",
                             kFewestForInterval));
  }
  std::vector<std::string> doubts;
  for (const auto& [side, point] : {std::pair{"A", &a}, std::pair{"B", &b}}) {
    if (const std::string why = doubt(point->processes); !why.empty())
      doubts.push_back(fmt::format("{}: {}", side, why));
  }
  if (!doubts.empty()) set_unjudged(pair, "undecided", joined(doubts, "; ") + "; measure again on a quieter machine");
  return pair;
}

StoredPair missing(const MeasuredPoint& present, bool in_a, const std::string& other) {
  StoredPair pair{.name = present.name};
  add_side(present, in_a ? pair.a : pair.b, in_a ? pair.a_processes : pair.b_processes);
  set_unjudged(pair, kMissing,
               fmt::format("{} has no such point: {} contains no record with this name", in_a ? "B" : "A", other));
  return pair;
}

}  // namespace

std::string_view StoredPair::verdict(double margin) const {
  return unjudged.empty() ? name_of(difference_of(interval, margin)) : std::string_view(unjudged);
}

std::string StoredPair::spoken(const std::string& left_out) const {
  const std::string text = spoken_name(name, left_out);
  return b_name.empty() ? text : fmt::format("{} and {}", text, spoken_name(b_name, left_out));
}

ComparedPoints compare_points(const MeasuredPoints& a, const MeasuredPoints& b, bool anyway) {
  constexpr double kErrorOfOne = 0.01;
  constexpr double kErrorOfAll = 0.05;
  const bool is_one_each = a.points.size() == 1 && b.points.size() == 1;
  const double error = std::min(kErrorOfOne, kErrorOfAll / static_cast<double>(a.points.size()));
  ComparedPoints compared{.pairs = {}, .confidence = 1 - error};
  std::vector<MeasuredPoint> left = b.points;
  for (const MeasuredPoint& point : a.points) {
    const auto match =
        std::ranges::find_if(left, [&](const MeasuredPoint& other) { return is_one_each || other.name == point.name; });
    const bool has_match = match != left.end();
    compared.pairs.push_back(has_match ? pair_of(point, *match, error, anyway) : missing(point, true, b.origin));
    if (has_match) left.erase(match);
  }
  if (left.size() == b.points.size()) {
    throw Error::format("laptime compare: {} and {} have no record name in common; give records of the same points",
                        a.origin, b.origin);
  }
  for (const MeasuredPoint& point : left) compared.pairs.push_back(missing(point, false, a.origin));
  return compared;
}

}  // namespace laptime
