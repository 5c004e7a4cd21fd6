// Writes the answers of laptime compare. Uses medians over rounds, and part times from the quieter rounds only, so that
// a disturbance in one round neither creates nor hides a difference.
#include "report/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "analysis/launch_sums.h"
#include "base/words.h"
#include "distribution/median.h"
#include "report/names.h"
#include "report/words.h"

namespace laptime {
namespace {

using Side = RoundFigures ComparedRound::*;

// The times of one side under a key of Record::time, round by round; 0 if a round has none.
std::vector<double> times_at(const std::vector<ComparedRound>& rounds, Side side, const std::string& key) {
  return mapped(rounds, [&](const ComparedRound& round) {
    const double* const time = at_key((round.*side).time, key);
    return time == nullptr ? 0 : *time;
  });
}

// The half of the rounds with the shortest traced steps, which were least disturbed. Rounds are ordered by the sum of
// A's and B's times, which favours neither side.
std::vector<ComparedRound> quiet_half(std::vector<ComparedRound> rounds) {
  std::ranges::stable_sort(rounds, {}, [](const ComparedRound& round) { return round.a.traced + round.b.traced; });
  rounds.resize((rounds.size() + 1) / 2);
  return rounds;
}

std::string interval_text(const std::optional<Interval>& interval) {
  return interval ? fmt::format("{:.3f} to {:.3f}", interval->low, interval->high) : "no interval";
}

Table ratio_table(const char* name, std::string_view first) {
  return {.name = name,
          .columns = columns_from(
              fmt::format("<{0}={0}; a_s=A; b_s=B; ratio=B / A; ratio_low=from; ratio_high=to; <verdict=B is", first))};
}

// A time with as many digits as the ratio's interval justifies.
TableCell time_cell(const std::optional<double>& time, const std::optional<double>& ratio,
                    const std::optional<Interval>& interval) {
  constexpr double kFinest = 0.001;
  if (!time) return {};
  const double uncertainty = ratio && interval ? (interval->high - interval->low) / (2 * *ratio) : 0;
  return {*time, "", interval ? std::max(uncertainty, kFinest) : 0};
}

TableCell ratio_cell(double ratio) { return {ratio, fmt::format("{:.3f}", ratio)}; }

std::vector<TableCell> ratio_row(const std::string& label, const std::optional<double>& a,
                                 const std::optional<double>& b, const std::optional<double>& ratio,
                                 const std::optional<Interval>& interval, std::string_view verdict) {
  return {label,
          time_cell(a, ratio, interval),
          time_cell(b, ratio, interval),
          ratio ? ratio_cell(*ratio) : TableCell(),
          interval ? ratio_cell(interval->low) : TableCell(),
          interval ? ratio_cell(interval->high) : TableCell(),
          std::string(verdict)};
}

// States the verdict and the ratio. `sure`: the interval and the number of rounds or processes, as text.
std::string sentence_of(double ratio, Difference difference, double margin, const std::string& sure) {
  const bool differs = difference == Difference::kSlower || difference == Difference::kFaster;
  const std::string verdict = difference == Difference::kSame
                                  ? fmt::format("no difference beyond {:.3g} %", 100 * margin)
                                  : fmt::format("{}{}", differs ? "B is " : "", name_of(difference));
  return fmt::format("{}: {:.3f} times the time of A ({})", verdict, ratio, sure);
}

// "99 % interval 1.021 to 1.047, "; empty for predictions, which are the same each time.
std::string interval_words(double confidence, const std::optional<Interval>& interval) {
  if (interval && interval->low == interval->high) return "";
  return fmt::format("{:.4g} % interval {}, ", 100 * confidence, interval_text(interval));
}

// "B is slower: 1.034 times the time of A (99 % interval 1.021 to 1.047, 12 rounds)".
std::string difference_sentence(const PairedRatio& ratio, double margin) {
  if (!ratio.interval) {
    return fmt::format("undecided: {:.3f} times the time of A ({} too few; an interval needs {})", ratio.ratio,
                       ratio.rounds == 1 ? "1 round is" : fmt::format("{} rounds are", ratio.rounds), kFewestRounds);
  }
  const std::string sure = fmt::format("{}{} rounds", interval_words(0.99, ratio.interval), ratio.rounds);
  return sentence_of(ratio.ratio, ratio.difference(margin), margin, sure);
}

std::string pair_sentence(const StoredPair& pair, double margin, double confidence) {
  if (!pair.ratio) return fmt::format("{}: {}", pair.unjudged, pair.reason);
  const std::string sure =
      fmt::format("{}{} and {} process{}", interval_words(confidence, pair.interval), pair.a_processes,
                  pair.b_processes, std::max(pair.a_processes, pair.b_processes) == 1 ? "" : "es");
  if (pair.unjudged.empty()) return sentence_of(*pair.ratio, difference_of(pair.interval, margin), margin, sure);
  return fmt::format("{}: {:.3f} times the time of A{}, but {}", pair.unjudged, *pair.ratio,
                     pair.interval ? fmt::format(" ({})", sure) : "", pair.reason);
}

std::string pairs_sentence(const std::vector<StoredPair>& pairs, double margin) {
  std::vector<std::pair<std::string_view, int64_t>> counts;  // in the order in which verdicts first occur
  for (const StoredPair& pair : pairs) {
    const std::string_view verdict = pair.verdict(margin);
    auto known = std::ranges::find(counts, verdict, &std::pair<std::string_view, int64_t>::first);
    if (known == counts.end()) known = counts.insert(known, {verdict, 0});
    ++known->second;
  }
  const auto text = [](const auto& one) { return fmt::format("{} {}", one.second, one.first); };
  return fmt::format("{}: {}", counted(pairs.size(), "point"), joined(mapped(counts, text), ", "));
}

Table phases_of(const std::vector<ComparedRound>& rounds, double margin) {
  Table table = ratio_table("phases", "phase");
  const RoundFigures& first = rounds.front().a;
  const auto add = [&](const std::string& key) {
    const std::vector<double> a = times_at(rounds, &ComparedRound::a, key);
    const std::vector<double> b = times_at(rounds, &ComparedRound::b, key);
    const auto is_time = [](double time) { return time > 0; };
    if (!std::ranges::all_of(a, is_time) || !std::ranges::all_of(b, is_time)) return;
    const PairedRatio ratio = paired_ratio(a, b);
    table.add(ratio_row(key, median(a), median(b), ratio.ratio, ratio.interval, name_of(ratio.difference(margin))));
  };
  for (const std::string& phase : first.phases) {
    if (phase != first.pass) add(phase);
  }
  add(first.pass);
  return table;
}

struct PartDifference {
  std::string key;
  double a = 0;
  double b = 0;

  double difference() const { return b - a; }
};

// Whether A and B launch the same ops in a part of the model.
bool has_same_ops(const ComparedRound& round, const std::string& part) {
  const auto* const a = at_key(round.a.parts, part);
  const auto* const b = at_key(round.b.parts, part);
  const auto name = [](const auto& op) { return op.first; };
  return a != nullptr && b != nullptr && std::ranges::equal(*a, *b, {}, name, name);
}

// For A and B, the mean seconds of the launches of a traced step, summed by key; largest difference first.
template <class Key>
std::vector<PartDifference> differences_by(const std::vector<ComparedRound>& rounds, const Key& key) {
  std::map<std::string, PartDifference> sums;
  for (const auto& [side, seconds] :
       {std::pair(&ComparedRound::a, &PartDifference::a), std::pair(&ComparedRound::b, &PartDifference::b)}) {
    for (const ComparedRound& round : rounds) {
      for (const auto& [part, ops] : (round.*side).parts) {
        for (const auto& [op, time] : ops) sums[key(part, op)].*seconds += time / static_cast<double>(rounds.size());
      }
    }
  }
  std::vector<PartDifference> differences = mapped(sums, [](const auto& sum) {
    return PartDifference{sum.first, sum.second.a, sum.second.b};
  });
  std::ranges::stable_sort(differences, std::greater{},
                           [](const PartDifference& part) { return std::abs(part.difference()); });
  return differences;
}

// The parts of a traced step; a part in which A and B launch the same ops is split by op.
std::vector<PartDifference> parts_of(const std::vector<ComparedRound>& rounds) {
  return differences_by(rounds, [&](const std::string& part, const std::string& op) {
    return has_same_ops(rounds.front(), part) ? fmt::format("{} {}", part, op) : part;
  });
}

// The ops of a traced step, each summed over all parts; empty if some part launches different ops in A and B.
std::vector<PartDifference> ops_of(const std::vector<ComparedRound>& rounds) {
  const ComparedRound& first = rounds.front();
  const auto differs = [&](const auto& part) { return !has_same_ops(first, part.first); };
  if (std::ranges::any_of(first.a.parts, differs) || std::ranges::any_of(first.b.parts, differs)) return {};
  return differences_by(rounds, [](const std::string&, const std::string& op) { return op; });
}

// A table of the `most` largest parts. All `parts` sum to `whole` minus the time between launches. If the verdict is
// that the times differ, shows each part's share of the difference.
Table parts_table(const char* name, const char* key, const std::vector<PartDifference>& parts,
                  const PartDifference& whole, bool is_decided, size_t most) {
  Table table{.name = name,
              .columns = columns_from(fmt::format("<{0}={0} in traced steps; a_s=A; b_s=B; difference_s=B - A; "
                                                  "of_difference=of all@1",
                                                  key))};
  const auto add = [&](const PartDifference& part) {
    TableCell share;
    if (is_decided && whole.difference() != 0)
      share = Json(part.difference() == 0 ? 0 : part.difference() / whole.difference());
    table.add({part.key, part.a, part.b, part.difference(), std::move(share)});
  };
  PartDifference rest{"everything else", whole.a, whole.b};
  for (size_t i = 0; i < std::min(most, parts.size()); ++i) {
    add(parts[i]);
    rest.a -= parts[i].a;
    rest.b -= parts[i].b;
  }
  add(rest);
  add(whole);
  return table;
}

std::string rounds_sentence(const std::vector<double>& ratios) {
  constexpr size_t kFew = 9;  // this many ratios fit on one line
  if (ratios.size() > kFew) {
    const auto [least, most] = std::ranges::minmax_element(ratios);
    return fmt::format("B / A in {} rounds: {:.3f} to {:.3f}, median {:.3f}", ratios.size(), *least, *most,
                       median(ratios));
  }
  std::string text = "B / A, round by round:";
  for (const double ratio : ratios) text += fmt::format(" {:.3f}", ratio);
  return text;
}

// Reports the part that contributes most to the difference, if any part changed in the same direction as the step.
void add_cause(PointAnswer& answer, const char* kind, const std::vector<PartDifference>& parts,
               const PartDifference& whole) {
  const auto cause = std::ranges::find_if(
      parts, [&](const PartDifference& part) { return part.difference() * whole.difference() > 0; });
  if (cause == parts.end()) return;
  Finding finding{.kind = kind,
                  .subject = cause->key,
                  .values = Json{{"difference_s", cause->difference()}, {"step_difference_s", whole.difference()}}};
  answer.say(words(finding));
  answer.findings.push_back(std::move(finding));
}

}  // namespace

RoundFigures round_figures(const Record& record, const std::optional<StepTrace>& trace) {
  RoundFigures figures;
  for (const auto& [key, stats] : record.time) {
    figures.time[key] = stats.median;
    if (&stats == record.main_time()) figures.pass = key;
  }
  for (const PhaseShare& share : record.phases) {
    if (record.time.contains(share.phase)) figures.phases.push_back(share.phase);
  }
  if (!trace || trace->steps.empty()) return figures;
  const auto key = [](const TraceLaunch& launch) { return fmt::format("{}\n{}", part_key(launch), launch.op); };
  for (const LaunchSum& sum : sum_launches(*trace, key))
    figures.parts[part_key(sum.first)][std::string(sum.first.op)] = sum.total;
  figures.traced = totals_of(*trace).step;
  return figures;
}

RoundTimes times_of(const std::vector<ComparedRound>& rounds) {
  const std::string& pass = rounds.front().a.pass;
  return {times_at(rounds, &ComparedRound::a, pass), times_at(rounds, &ComparedRound::b, pass)};
}

PairedRatio ratio_of(const std::vector<ComparedRound>& rounds) {
  const RoundTimes times = times_of(rounds);
  return paired_ratio(times.a, times.b);
}

PointAnswer comparison_answer(const ComparedNames& names, const std::vector<ComparedRound>& rounds, double margin,
                              bool verbose) {
  constexpr size_t kShown = 4;
  constexpr size_t kMostParts = 12;
  PointAnswer answer{.name = fmt::format("A: {}; B: {}; {}", names.a, names.b, spoken_name(names.point))};
  const PairedRatio ratio = ratio_of(rounds);
  const Difference difference = ratio.difference(margin);
  answer.say(difference_sentence(ratio, margin));
  const std::vector<ComparedRound> quiet = quiet_half(rounds);
  const std::vector<PartDifference> parts = parts_of(quiet);
  const std::vector<PartDifference> ops = ops_of(quiet);
  PartDifference whole{.key = "step"};
  for (const ComparedRound& round : quiet) {
    whole.a += round.a.traced;
    whole.b += round.b.traced;
  }
  whole.a /= static_cast<double>(quiet.size());
  whole.b /= static_cast<double>(quiet.size());
  const bool differs = difference == Difference::kFaster || difference == Difference::kSlower;
  if (differs) {
    add_cause(answer, "largest_op_difference", ops, whole);
    add_cause(answer, "largest_part_difference", parts, whole);
  }
  answer.show(phases_of(rounds, margin));
  // Without `verbose`, people see only the first rows of the first table; programs get all tables.
  bool is_first = true;
  const auto add = [&](const char* name, const char* key, const std::vector<PartDifference>& of) {
    if (of.empty()) return;
    const auto table = [&](size_t most) { return parts_table(name, key, of, whole, differs, most); };
    if (is_first && !verbose) answer.parts.push_back({.table = table(kShown), .for_data = false});
    answer.parts.push_back({.table = table(kMostParts), .for_people = verbose});
    is_first = false;
  };
  add("ops", "op", ops);
  add("parts", "part", parts);
  const RoundTimes times = times_of(rounds);
  std::vector<double> ratios;
  Table of_rounds{.name = "rounds", .columns = columns_from("round=round; a_s=A; b_s=B; ratio=B / A")};
  for (size_t i = 0; i < rounds.size(); ++i) {
    ratios.push_back(times.b[i] / times.a[i]);
    of_rounds.add({i + 1, times.a[i], times.b[i], ratio_cell(ratios[i])});
  }
  answer.parts.push_back({.table = std::move(of_rounds), .for_people = verbose});
  answer.say(rounds_sentence(ratios));
  answer.say(answer.name);
  return answer;
}

PointAnswer stored_comparison_answer(const std::string& a, const std::string& b, const std::vector<StoredPair>& pairs,
                                     double margin, double confidence) {
  PointAnswer answer{.name = fmt::format("A: {}; B: {}", a, b)};
  answer.say(pairs.size() == 1 ? pair_sentence(pairs.front(), margin, confidence) : pairs_sentence(pairs, margin));
  Table table = ratio_table("records", "point");
  for (TableColumn& column : columns_from("a_processes=runs of A@2; b_processes=of B@2; <reason=why@3"))
    table.columns.push_back(std::move(column));
  const std::string common = common_words(pairs, [](const StoredPair& pair) { return pair.name; });
  for (const StoredPair& pair : pairs) {
    const std::string name = pair.b_name.empty() ? pair.name : fmt::format("{} and {}", pair.name, pair.b_name);
    std::vector<TableCell> row = ratio_row(name, pair.a, pair.b, pair.ratio, pair.interval, pair.verdict(margin));
    row.insert(row.end(),
               {pair.a_processes, pair.b_processes, pair.reason.empty() ? TableCell() : TableCell(pair.reason)});
    row.front().text = pair.spoken(common);
    table.add(std::move(row));
  }
  answer.show(std::move(table));
  const std::string shared = common.empty() ? "" : fmt::format("; {}", spoken_name(common));
  answer.say(fmt::format("{}{}; medians of the records, {:.4g} % intervals", answer.name, shared, 100 * confidence));
  return answer;
}

}  // namespace laptime
