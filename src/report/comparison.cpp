// Medians over rounds, and parts over the quieter ones, so that what disturbs one round neither makes a difference nor
// hides one.
#include "report/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <string_view>
#include <utility>

#include "analysis/launch_sums.h"
#include "base/units.h"
#include "base/words.h"
#include "distribution/median.h"

namespace laptime {
namespace {

constexpr size_t kMostParts = 12;

using ReadFigure = std::function<double(const RoundFigures&)>;

std::vector<double> of_rounds(const std::vector<ComparedRound>& rounds, RoundFigures ComparedRound::*side,
                              const ReadFigure& figure) {
  std::vector<double> values;
  values.reserve(rounds.size());
  for (const ComparedRound& round : rounds) values.push_back(figure(round.*side));
  return values;
}

// The rounds whose traced steps were least disturbed: the half with the shortest sum of A and B, which favours neither.
std::vector<ComparedRound> quiet_half(std::vector<ComparedRound> rounds) {
  std::stable_sort(rounds.begin(), rounds.end(), [](const ComparedRound& x, const ComparedRound& y) {
    return x.a.traced + x.b.traced < y.a.traced + y.b.traced;
  });
  rounds.resize((rounds.size() + 1) / 2);
  return rounds;
}

double mean_of(const std::vector<ComparedRound>& rounds, RoundFigures ComparedRound::*side, const ReadFigure& figure) {
  double sum = 0;
  for (const ComparedRound& round : rounds) sum += figure(round.*side);
  return sum / static_cast<double>(rounds.size());
}

ReadFigure time_at(const std::string& key) {
  return [key](const RoundFigures& figures) {
    const auto found = figures.time.find(key);
    return found == figures.time.end() ? 0 : found->second;
  };
}

// Seconds of an op in a part, or of the whole part where `op` is empty.
ReadFigure part_at(const std::string& part, const std::string& op) {
  return [part, op](const RoundFigures& figures) {
    const auto found = figures.parts.find(part);
    if (found == figures.parts.end()) return 0.0;
    double sum = 0;
    for (const auto& [name, seconds] : found->second) sum += op.empty() || op == name ? seconds : 0;
    return sum;
  };
}

// Seconds of an op in all parts of a step.
ReadFigure op_at(const std::string& op) {
  return [op](const RoundFigures& figures) {
    double sum = 0;
    for (const auto& [part, ops] : figures.parts) {
      if (const auto found = ops.find(op); found != ops.end()) sum += found->second;
    }
    return sum;
  };
}

double traced(const RoundFigures& figures) { return figures.traced; }

std::string interval_text(const std::optional<Interval>& interval) {
  return interval ? fmt::format("{:.3f} to {:.3f}", interval->low, interval->high) : "no interval";
}

GridColumn ratio_column(std::string key, std::string title) {
  return {.key = std::move(key),
          .title = std::move(title),
          .unit = Unit::kNone,
          .text = false,
          .optional = 0,
          .shown = [](const Json& value) {
            return value.is_null() ? std::string("-") : fmt::format("{:.3f}", value.get<double>());
          }};
}

// A table of times of A and B, with their ratio.
Grid ratio_grid(const char* name, const char* caption, GridColumn first) {
  return {.name = name,
          .title = caption,
          .columns = {std::move(first),
                      {"a_s", "A", Unit::kSeconds},
                      {"b_s", "B", Unit::kSeconds},
                      ratio_column("ratio", "B / A"),
                      ratio_column("ratio_low", "from"),
                      ratio_column("ratio_high", "to"),
                      text_column("verdict", "B is")},
          .rows = {},
          .notes = {}};
}

std::vector<Json> ratio_row(const std::string& label, Json a, Json b, Json ratio,
                            const std::optional<Interval>& interval, std::string_view verdict) {
  return {label,
          std::move(a),
          std::move(b),
          std::move(ratio),
          interval ? Json(interval->low) : Json(nullptr),
          interval ? Json(interval->high) : Json(nullptr),
          verdict};
}

// `sure`: the interval in words; `advice`: what narrows it.
std::string sentence_of(double ratio, Difference difference, double margin, const std::string& sure,
                        std::string_view advice) {
  switch (difference) {
    case Difference::kSame:
      return fmt::format("no difference beyond {:.3g} %: B takes {:.3f} times the time of A ({})", 100 * margin, ratio,
                         sure);
    case Difference::kSlower: return fmt::format("B is slower: it takes {:.3f} times the time of A ({})", ratio, sure);
    case Difference::kFaster:
      return fmt::format("B is faster: it takes {:.3f} times the time of A ({}), which is {:.2f}x as fast", ratio, sure,
                         1 / ratio);
    case Difference::kUndecided: break;
  }
  return fmt::format("undecided: B takes {:.3f} times the time of A, but 1 lies within the {}; {}", ratio, sure,
                     advice);
}

std::string pair_sentence(const StoredPair& pair, double margin, double confidence) {
  if (!pair.ratio) return fmt::format("{}: {}", pair.unjudged, pair.reason);
  if (!pair.interval) {
    return fmt::format("{}: B takes {:.3f} times the time of A, but {}", pair.unjudged, *pair.ratio, pair.reason);
  }
  const std::string sure =
      fmt::format("{:.4g} % interval {}, {} and {}", 100 * confidence, interval_text(pair.interval), pair.a_processes,
                  pair.b_processes == 1 ? "1 process" : fmt::format("{} processes", pair.b_processes));
  if (!pair.unjudged.empty()) {
    return fmt::format("{}: B takes {:.3f} times the time of A ({}), but {}", pair.unjudged, *pair.ratio, sure,
                       pair.reason);
  }
  return sentence_of(*pair.ratio, difference_of(pair.interval, margin), margin, sure,
                     "more processes narrow it: measure the points several times");
}

// "4 points: 1 slower, 2 same, 1 missing".
std::string pairs_sentence(const std::vector<StoredPair>& pairs, double margin) {
  std::vector<std::pair<std::string_view, int64_t>> counts;
  for (const StoredPair& pair : pairs) {
    const std::string_view verdict = pair.verdict(margin);
    const auto known =
        std::find_if(counts.begin(), counts.end(), [&](const auto& count) { return count.first == verdict; });
    known == counts.end() ? static_cast<void>(counts.emplace_back(verdict, 1)) : static_cast<void>(++known->second);
  }
  std::string text = counted(pairs.size(), "point") + ":";
  for (const auto& [verdict, count] : counts)
    text += fmt::format("{} {} {}", text.back() == ':' ? "" : ",", count, verdict);
  return text;
}

Grid phases_of(const std::vector<ComparedRound>& rounds, double margin) {
  Grid grid = ratio_grid("phases", "medians over the rounds", text_column("phase", "Phase"));
  const RoundFigures& first = rounds.front().a;
  const auto add = [&](const std::string& key) {
    const ReadFigure figure = time_at(key);
    const std::vector<double> a = of_rounds(rounds, &ComparedRound::a, figure);
    const std::vector<double> b = of_rounds(rounds, &ComparedRound::b, figure);
    const auto is_time = [](double time) { return time > 0; };
    if (!std::all_of(a.begin(), a.end(), is_time) || !std::all_of(b.begin(), b.end(), is_time)) return;
    const PairedRatio ratio = paired_ratio(a, b);
    grid.rows.push_back(
        ratio_row(key, median(a), median(b), ratio.ratio, ratio.interval, name_of(ratio.difference(margin))));
  };
  for (const std::string& phase : first.phases) {
    if (phase != first.pass) add(phase);
  }
  add(first.pass);
  return grid;
}

struct PartDifference {
  std::string key;
  double a = 0;
  double b = 0;

  double difference() const { return b - a; }
};

// The ops of each part of the model, as A and B launch them; one empty name where they launch different ones.
std::map<std::string, std::set<std::string>> shared_ops(const ComparedRound& round) {
  std::map<std::string, std::set<std::string>> of_a;
  std::map<std::string, std::set<std::string>> of_b;
  for (const auto& [part, ops] : round.a.parts) {
    for (const auto& [op, seconds] : ops) of_a[part].insert(op);
  }
  for (const auto& [part, ops] : round.b.parts) {
    for (const auto& [op, seconds] : ops) of_b[part].insert(op);
  }
  for (const auto& [part, ops] : of_b) of_a.try_emplace(part);
  for (auto& [part, ops] : of_a) {
    if (of_b[part] != ops) ops = {""};
  }
  return of_a;
}

PartDifference difference_of(std::string key, const std::vector<ComparedRound>& rounds, const ReadFigure& figure) {
  return {std::move(key), mean_of(rounds, &ComparedRound::a, figure), mean_of(rounds, &ComparedRound::b, figure)};
}

void sort_largest_first(std::vector<PartDifference>& parts) {
  std::stable_sort(parts.begin(), parts.end(), [](const PartDifference& x, const PartDifference& y) {
    return std::abs(x.difference()) > std::abs(y.difference());
  });
}

// The parts of a traced step, those with the largest difference first: op by op where A and B launch the same ones.
std::vector<PartDifference> parts_of(const std::vector<ComparedRound>& rounds) {
  std::vector<PartDifference> parts;
  for (const auto& [part, ops] : shared_ops(rounds.front())) {
    for (const std::string& op : ops)
      parts.push_back(difference_of(op.empty() ? part : fmt::format("{} {}", part, op), rounds, part_at(part, op)));
  }
  sort_largest_first(parts);
  return parts;
}

// The ops of a traced step, each in all parts together, those with the largest difference first; none where some part
// of A launches other ops than it does in B.
std::vector<PartDifference> ops_of(const std::vector<ComparedRound>& rounds) {
  std::set<std::string> names;
  for (const auto& [part, ops] : shared_ops(rounds.front())) names.insert(ops.begin(), ops.end());
  if (names.contains("")) return {};
  std::vector<PartDifference> ops;
  ops.reserve(names.size());
  for (const std::string& op : names) ops.push_back(difference_of(op, rounds, op_at(op)));
  sort_largest_first(ops);
  return ops;
}

// `parts` sum to `whole`, less what lies between the launches. They are shares of the difference where there is one.
Grid parts_grid(const char* name, std::string title, GridColumn first, const std::vector<PartDifference>& parts,
                const PartDifference& whole, bool is_decided) {
  Grid grid{.name = name,
            .title = std::move(title),
            .columns = {std::move(first),
                        {"a_s", "A", Unit::kSeconds},
                        {"b_s", "B", Unit::kSeconds},
                        {"difference_s", "B - A", Unit::kSeconds},
                        {"of_difference", "Of all", Unit::kFraction}},
            .rows = {},
            .notes = {}};
  const auto add = [&](const PartDifference& part) {
    grid.rows.push_back(
        {part.key, part.a, part.b, part.difference(),
         is_decided && whole.difference() != 0 ? Json(part.difference() / whole.difference()) : Json(nullptr)});
  };
  PartDifference rest{"everything else", whole.a, whole.b};
  for (size_t i = 0; i < std::min(kMostParts, parts.size()); ++i) {
    add(parts[i]);
    rest.a -= parts[i].a;
    rest.b -= parts[i].b;
  }
  add(rest);
  add(whole);
  return grid;
}

// The part that explains most of the difference; none where no part has its sign.
const PartDifference* largest_cause(const std::vector<PartDifference>& parts, const PartDifference& whole) {
  const auto most = std::find_if(parts.begin(), parts.end(), [&](const PartDifference& part) {
    return part.difference() * whole.difference() > 0;
  });
  return most == parts.end() ? nullptr : &*most;
}

// The op that explains most of the difference, where A and B launch the same ops, and the part of the model that does.
std::string cause_sentence(const std::vector<PartDifference>& ops, const std::vector<PartDifference>& parts,
                           const PartDifference& whole) {
  const auto signed_text = [](double seconds) {
    return fmt::format("{}{}", seconds < 0 ? "-" : "+", format_seconds(std::abs(seconds)));
  };
  const PartDifference* part = largest_cause(parts, whole);
  if (part == nullptr) return "";
  const std::string of_whole = " of " + signed_text(whole.difference());
  const std::string of_part =
      fmt::format("the part of the model that differs most is {}: {}", part->key, signed_text(part->difference()));
  const PartDifference* op = largest_cause(ops, whole);
  if (op == nullptr) return of_part + of_whole;
  return fmt::format("the op that differs most is {}: {}{}; {}", op->key, signed_text(op->difference()), of_whole,
                     of_part);
}

Grid rounds_grid(const std::vector<ComparedRound>& rounds) {
  Grid grid{.name = "rounds",
            .title = "rounds",
            .columns = {{"round", "Round"},
                        {"a_s", "A", Unit::kSeconds},
                        {"b_s", "B", Unit::kSeconds},
                        ratio_column("ratio", "B / A")},
            .rows = {},
            .notes = {}};
  std::string ratios = "B / A, round by round:";
  for (size_t i = 0; i < rounds.size(); ++i) {
    const double a = time_at(rounds[i].a.pass)(rounds[i].a);
    const double b = time_at(rounds[i].a.pass)(rounds[i].b);
    grid.rows.push_back({i + 1, a, b, b / a});
    ratios += fmt::format(" {:.3f}", b / a);
  }
  grid.picture = [ratios](const TableStyle& style) { return broken_at_spaces(ratios, style.width) + "\n"; };
  return grid;
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
  figures.tokens_per_second = record.tokens_per_second.value_or(0);
  if (!trace || trace->steps.empty()) return figures;
  static constexpr char kBetween = '\n';
  const auto key = [](const TraceLaunch& launch) {
    return fmt::format("{}{}{}", part_key(launch), kBetween, launch.op);
  };
  for (const LaunchSum& sum : sum_launches(*trace, key)) {
    const size_t end = sum.key.find(kBetween);
    figures.parts[sum.key.substr(0, end)][sum.key.substr(end + 1)] = sum.total;
  }
  figures.traced = totals_of(*trace).step;
  return figures;
}

RoundTimes times_of(const std::vector<ComparedRound>& rounds) {
  const ReadFigure figure = time_at(rounds.front().a.pass);
  return {of_rounds(rounds, &ComparedRound::a, figure), of_rounds(rounds, &ComparedRound::b, figure)};
}

PairedRatio ratio_of(const std::vector<ComparedRound>& rounds) {
  const RoundTimes times = times_of(rounds);
  return paired_ratio(times.a, times.b);
}

std::string difference_sentence(const PairedRatio& ratio, double margin) {
  if (!ratio.interval) {
    return fmt::format("undecided: {} {} too few for an interval, which takes {}", ratio.rounds,
                       ratio.rounds == 1 ? "round is" : "rounds are", kFewestRounds);
  }
  const std::string sure = fmt::format("99 % interval {}, {} rounds", interval_text(ratio.interval), ratio.rounds);
  return sentence_of(ratio.ratio, ratio.difference(margin), margin, sure, "a larger --budget allows more rounds");
}

PointReport comparison_report(const ComparedNames& names, const std::vector<ComparedRound>& rounds, double margin) {
  PointReport report{.name = fmt::format("A: {}; B: {}; {}", names.a, names.b, names.point), .lines = {}, .grids = {}};
  const PairedRatio ratio = ratio_of(rounds);
  const Difference difference = ratio.difference(margin);
  report.lines.push_back(difference_sentence(ratio, margin));
  const std::vector<ComparedRound> quiet = quiet_half(rounds);
  const std::vector<PartDifference> parts = parts_of(quiet);
  const std::vector<PartDifference> ops = ops_of(quiet);
  const PartDifference whole{"step", mean_of(quiet, &ComparedRound::a, traced),
                             mean_of(quiet, &ComparedRound::b, traced)};
  const bool differs = difference == Difference::kFaster || difference == Difference::kSlower;
  if (std::string cause = cause_sentence(ops, parts, whole); differs && !cause.empty())
    report.lines.push_back(std::move(cause));
  report.grids.push_back(phases_of(rounds, margin));
  const auto title = [differs](const char* by) {
    return fmt::format("{}: means of traced steps, over the less disturbed half of the rounds",
                       differs ? "where the difference comes from, by " + std::string(by)
                               : fmt::format("times by {}, whose differences are not decided either", by));
  };
  if (!ops.empty())
    report.grids.push_back(parts_grid("ops", title("op"), text_column("op", "Op"), ops, whole, differs));
  if (!parts.empty()) {
    report.grids.push_back(
        parts_grid("parts", ops.empty() ? title("part of the model") : "by part of the model, from the same steps",
                   text_column("part", "Part"), parts, whole, differs));
  }
  report.grids.push_back(rounds_grid(rounds));
  return report;
}

std::string_view StoredPair::verdict(double margin) const {
  return unjudged.empty() ? name_of(difference_of(interval, margin)) : std::string_view(unjudged);
}

PointReport stored_comparison_report(const std::string& a, const std::string& b, const std::vector<StoredPair>& pairs,
                                     double margin, double confidence) {
  PointReport report{.name = fmt::format("A: {}; B: {}", a, b), .lines = {}, .grids = {}};
  report.lines.push_back(pairs.size() == 1 ? pair_sentence(pairs.front(), margin, confidence)
                                           : pairs_sentence(pairs, margin));
  Grid grid = ratio_grid("records", "", text_column("point", "Point"));
  grid.title = fmt::format("medians of the records, and {:.4g} % intervals of their ratio", 100 * confidence);
  grid.columns.push_back(optional_column(2, {"a_processes", "Processes A"}));
  grid.columns.push_back(optional_column(2, {"b_processes", "B"}));
  grid.columns.push_back(optional_column(3, text_column("reason", "Why")));
  for (const StoredPair& pair : pairs) {
    std::vector<Json> row = ratio_row(pair.name, or_null(pair.a), or_null(pair.b), or_null(pair.ratio), pair.interval,
                                      pair.verdict(margin));
    row.insert(row.end(),
               {pair.a_processes, pair.b_processes, pair.reason.empty() ? Json(nullptr) : Json(pair.reason)});
    grid.rows.push_back(std::move(row));
  }
  report.grids.push_back(std::move(grid));
  return report;
}

}  // namespace laptime
