// The lines of a profile, and profiles side by side: the parts of two profiles, the cost of casts, and how shares
// change from pass to pass.
#include "report/profile_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "base/json.h"
#include "base/words.h"
#include "report/point_text.h"
#include "report/words.h"

namespace laptime {
namespace {

// Bars for the phases of a step, each with its slowest class, or for the classes of a pass with a single phase.
std::vector<Bar> bars_of(const std::vector<Finding>& findings) {
  constexpr double kLeast = 0.01;  // as a share of the step; thinner bars are invisible
  std::vector<Bar> phases;
  std::vector<Bar> classes;
  for (const Finding& finding : findings) {
    const double seconds = finding.number("total_s");
    Bar one{"  " + finding.subject, brief_seconds(seconds), seconds};
    if (finding.kind == "phase_time") {
      if (finding.text("class") != finding.subject)
        one.after = fmt::format("{} {}", percent_text(finding.number("class_share")), finding.text("class"));
      phases.push_back(std::move(one));
    } else if (finding.kind == "class_share" && finding.number("share") >= kLeast) {
      one.after = percent_text(finding.number("share"));
      classes.push_back(std::move(one));
    }
  }
  return phases.size() > 1 ? phases : classes;
}

// "no launch matches 'class = matmull'; values of class here: matmul, softmax".
std::string no_launch_line(const StepTrace& trace, const ProfileQuery& query) {
  constexpr size_t kMost = 12;
  std::string text = "no launch matches " + (query.selection.empty() ? "the selection" : query.selection);
  const std::set<std::string> columns(query.selection_columns.begin(), query.selection_columns.end());
  for (const std::string& column : columns) {
    std::vector<std::string> values;
    const auto value_of = [&](const TraceLaunch& launch) { return plain_text(launch_column(launch, column)); };
    for (const LaunchSum& sum : sum_launches(trace, value_of)) {
      if (!sum.key.empty() && sum.key != "null") values.push_back(sum.key);
    }
    const size_t more = values.size() - std::min(values.size(), kMost);
    values.resize(values.size() - more);
    text += values.empty() ? fmt::format("; no launch here has a {}", column)
                           : fmt::format("; values of {} here: {}", column, joined(values, ", "));
    if (more > 0) text += fmt::format(" and {} more", more);
  }
  return text;
}

std::string doubt_line(const std::vector<Finding>& findings) {
  const Finding* const tracing = find(findings, "tracing");
  if (tracing == nullptr || tracing->text("is_disturbed") != "true") return "";
  const double ratio = tracing->number("mean_ratio");
  return fmt::format("! traced steps took {} {} on average: trust shares, not times",
                     whole_percent_text(std::abs(ratio - 1)), ratio > 1 ? "longer" : "less time");
}

// The table of the phases, the residue and the total, for programs.
Table phase_times_table(const std::vector<Finding>& findings) {
  Table table{
      .name = "phases",
      .columns = columns_from("<phase=phase; total_s=time; time_share=share; launches=launches; of_roofline=of bound")};
  const Finding& pass = *find(findings, "pass_time");
  const double whole = pass.number("total_s");
  for (const Finding& phase : findings) {
    if (phase.kind != "phase_time") continue;
    table.add({phase.subject, phase.number("total_s"), phase.number("share"), phase.integer("launches"),
               phase.value("of_bound")});
  }
  table.add({"residue", pass.number("residue_s"), share_of(pass.number("residue_s"), whole), nullptr, nullptr});
  const Finding* const bound = find(findings, "pass_bound");
  table.add({"step", whole, 1.0, pass.integer("launches"), bound == nullptr ? Json() : bound->value("of_bound")});
  return table;
}

// A table that compares two profiles: the view that shows it, its name, the key of its rows, and a test that selects
// launches (null: all).
struct ComparedRows {
  ProfileView view;
  const char* name;
  std::string (*key)(const TraceLaunch& launch);
  bool (*test)(const TraceLaunch& launch) = nullptr;
};
constexpr std::array kCompared{ComparedRows{ProfileView::kClasses, "compared_classes", class_key},
                               ComparedRows{ProfileView::kLayers, "compared_parts", part_key},
                               ComparedRows{ProfileView::kKernels, "compared_kernels", kernel_of},
                               ComparedRows{ProfileView::kOps, "compared_ops",
                                            [](const TraceLaunch& l) { return fmt::format("{} {}", l.phase, l.op); }},
                               ComparedRows{ProfileView::kAttention, "compared_attention",
                                            [](const TraceLaunch& l) { return fmt::format("{} {}", l.phase, l.range); },
                                            [](const TraceLaunch& l) { return !l.range.empty(); }}};

// Keeps the `top` rows with the largest values (0: all rows) in their order; a note counts the others.
void keep_largest(Table& table, const std::vector<double>& values, int64_t top) {
  if (top <= 0 || table.rows.size() <= static_cast<size_t>(top)) return;
  std::vector<double> sorted = values;
  std::ranges::sort(sorted, std::greater{});
  const double least = sorted[static_cast<size_t>(top) - 1];
  auto ties = top - std::ranges::count_if(values, [&](double value) { return value > least; });
  table.notes.push_back(fmt::format("  ... {} more", static_cast<int64_t>(table.rows.size()) - top));
  size_t next = 0;
  std::erase_if(table.rows, [&](const TableRow&) {
    const double value = values[next++];
    return value < least || (value == least && ties-- <= 0);
  });
}

std::vector<Table> compared_tables(const ComparedProfile& a, const ComparedProfile& b, const ProfileQuery& query) {
  std::vector<Table> tables;
  for (const ComparedRows& one : kCompared) {
    const bool is_of_summary = one.view == ProfileView::kClasses || one.view == ProfileView::kLayers;
    const bool is_shown = query.view == one.view || query.view == ProfileView::kAll ||
                          (query.view == ProfileView::kSummary && is_of_summary);
    if (!is_shown) continue;
    Table table{
        .name = one.name,
        .columns = columns_from(fmt::format("<part=; {0}_s={0}; {1}_s={1}; saved_s=saved; speedup=gain; speedup_low; "
                                            "speedup_high",
                                            a.title, b.title))};
    LaunchTest test = query.test;
    if (one.test != nullptr) {
      test = [&](const TraceLaunch& launch) { return one.test(launch) && (!query.test || query.test(launch)); };
    }
    std::vector<TableRow> whole;  // rows for the residue and the whole pass
    std::vector<double> differences;
    for (const ComparedPart& part : compared_parts(*a.trace, *b.trace, one.key, test)) {
      const auto& interval = part.interval;
      std::vector<TableCell> cells{part.part,
                                   part.a,
                                   part.b,
                                   part.saved(),
                                   part.ratio,
                                   interval ? Json(interval->low) : Json(),
                                   interval ? Json(interval->high) : Json()};
      if (interval) cells[4].text = ratio_with_interval(*part.ratio, interval->low, interval->high);
      if (part.part == "residue" || part.part == "step") {
        if (part.part == "step") cells.front().text = pass_of(*a.trace);
        whole.push_back({.cells = std::move(cells)});
      } else {
        table.add(std::move(cells));
        differences.push_back(std::abs(part.saved()));
      }
    }
    keep_largest(table, differences, query.top);
    std::ranges::move(whole, std::back_inserter(table.rows));
    tables.push_back(std::move(table));
  }
  return tables;
}

}  // namespace

bool splits(ProfileView view, ProfileBy by) {
  if (by == ProfileBy::kLayer) return view != ProfileView::kAttention;
  const bool has_own_rows =
      view == ProfileView::kClasses || view == ProfileView::kAttention || view == ProfileView::kLayers;
  return by != ProfileBy::kShape || !has_own_rows;
}

PointAnswer profile_answer(const Record& record, const StepTrace& trace, const ProfileQuery& query) {
  constexpr size_t kWidestBar = 40;
  PointAnswer answer = answer_about(record);
  answer.findings = trace_findings(record, trace);
  const std::vector<Finding>& findings = answer.findings;
  const bool is_empty = trace.launch_count() > 0 && sum_launches(trace, phase_of, query.test).empty();
  if (is_empty) answer.say(no_launch_line(trace, query));
  if (query.view == ProfileView::kAttention && !is_empty) answer.say(words_of(findings, "softmax_against_products"));
  answer.say(profile_headline(findings));
  if (record.status != Status::kOk) answer.say(fmt::format("  {}: {}", name_of(record.status), record.reason));
  if (query.view == ProfileView::kSummary || query.view == ProfileView::kAll)
    answer.draw([bars = bars_of(findings)](const TextStyle& style) { return bars_text(bars, kWidestBar, style); });
  answer.say_findings({"communication"});
  answer.keep(phase_times_table(findings));
  if (!is_empty) {
    for (Table& table : profile_tables(trace, query)) {
      const bool is_for_people = query.view != ProfileView::kSummary || table.name == "kernels";
      is_for_people ? answer.show(std::move(table)) : answer.keep(std::move(table));
    }
  }
  if (query.verbose)  // how much tracing slows the step down, and the rates used for the bounds
    answer.say_findings({"class_share", "rates", "pass_bound", "tracing", "launch_sum", "marks", "launch_starts",
                         "data_sheet_floor", "device_idle"});
  answer.say(is_predicted(record) ? std::string(kPredictedLine) : doubt_line(findings));
  return answer;
}

Table cast_table(const std::vector<std::pair<ComparedProfile, ComparedProfile>>& pairs) {
  Table table{
      .name = "casts",
      .columns = columns_from("<point=point; <from=from; <to=to; casts_s=casts; cast_share=share; from_s=before@1; "
                              "to_s=after@1; speedup=gain; speedup_low; speedup_high")};
  for (const auto& [a, b] : pairs) {
    const Finding cost = cast_cost(a, b);
    std::vector<TableCell> cells{cost.subject, cost.text("from"), cost.text("to")};
    for (const char* const key : {"casts_s", "cast_share", "from_s", "to_s", "speedup", "speedup_low", "speedup_high"})
      cells.emplace_back(cost.value(key));
    const auto number = [&](const char* key) { return cost.number(key); };
    if (cost.has("speedup_low"))
      cells[7].text = ratio_with_interval(number("speedup"), number("speedup_low"), number("speedup_high"));
    table.add(std::move(cells));
  }
  return table;
}

Table class_share_table(const std::vector<ComparedProfile>& profiles, const ProfileQuery& query) {
  Table table{.name = "class_shares", .columns = columns_from("<class=class")};
  std::map<std::string, std::vector<TableCell>> rows;
  std::vector<TableCell> residue{"residue"};
  for (size_t i = 0; i < profiles.size(); ++i) {
    const StepTotals totals = totals_of(*profiles[i].trace);
    table.columns.push_back(columns_from(fmt::format("{0}_share={0}", profiles[i].title)).front());
    for (const LaunchSum& sum : sum_launches(*profiles[i].trace, class_of, query.test)) {
      std::vector<TableCell>& row = rows[sum.key];
      row.resize(profiles.size() + 1, 0.0);
      row[i + 1] = sum.total / totals.step;
    }
    residue.emplace_back(totals.residue() / totals.step);
  }
  for (auto& [work_class, row] : rows) {
    row.front() = work_class;
    table.add(std::move(row));
  }
  std::ranges::stable_sort(table.rows, std::greater{},
                           [](const TableRow& row) { return row.cells[1].value.get<double>(); });
  std::vector<double> shares;
  for (const TableRow& row : table.rows) {
    double& most = shares.emplace_back(0);
    for (size_t i = 1; i < row.cells.size(); ++i) most = std::max(most, row.cells[i].value.get<double>());
  }
  keep_largest(table, shares, query.top);
  if (!query.test) table.add(std::move(residue));
  return table;
}

PointAnswer compared_answer(const ComparedProfile& a, const ComparedProfile& b, const ProfileQuery& query) {
  PointAnswer answer{.name = fmt::format("{} compared with {}: {}", a.title, b.title, b.point)};
  const ComparedPart whole = compared_parts(*a.trace, *b.trace, class_key).back();
  if (whole.ratio) {
    const auto& [low, high] = whole.interval.value_or(Interval{});
    const std::string ratio =
        whole.interval ? ratio_with_interval(*whole.ratio, low, high) : value_text(*whole.ratio, Unit::kRatio);
    answer.say(fmt::format("{} is {} as fast as {}: {} against {}", b.title, ratio, a.title, brief_seconds(*whole.b),
                           brief_seconds(*whole.a)));
  }
  for (Table& table : compared_tables(a, b, query)) answer.show(std::move(table));
  answer.say(disturbed_line({a, b}));
  return answer;
}

std::string disturbed_line(const std::vector<ComparedProfile>& profiles) {
  const auto count = std::ranges::count_if(profiles, [](const auto& profile) { return is_disturbed(*profile.trace); });
  if (count == 0) return "";
  return fmt::format("! {} of {} profiles {} disturbed: trust shares, not times", count, profiles.size(),
                     count == 1 ? "is" : "are");
}

}  // namespace laptime
