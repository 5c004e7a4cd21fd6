// The lines of a profile.
#include "report/profile_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/json.h"
#include "base/words.h"
#include "report/words.h"

namespace laptime {
namespace {

constexpr size_t kWidestBar = 40;
constexpr double kLeastBar = 0.01;  // of the step: thinner bars show nothing

struct PhaseBar {
  std::string name;
  double seconds = 0;
  std::string largest;  // "94 % matmul"
};

// The phases of a step; the classes of a pass that has a single phase.
std::vector<PhaseBar> bars_of(const std::vector<Finding>& findings) {
  std::vector<PhaseBar> phases;
  std::vector<PhaseBar> classes;
  for (const Finding& finding : findings) {
    const double seconds = finding.number("total_s");
    if (finding.kind == "phase_time") {
      const double share = finding.number("class_share");
      const std::string largest = fmt::format("{} {}", percent_text(share), finding.text("class"));
      phases.push_back({finding.subject, seconds, finding.text("class") == finding.subject ? "" : largest});
    }
    if (finding.kind == "class_share" && finding.number("share") >= kLeastBar)
      classes.push_back({finding.subject, seconds, percent_text(finding.number("share"))});
  }
  return phases.size() > 1 ? phases : classes;
}

std::string bars_text(const std::vector<PhaseBar>& bars, const TextStyle& style) {
  double most = 0;
  size_t label = 0;
  size_t time = 0;
  size_t largest = 0;
  for (const PhaseBar& one : bars) {
    most = std::max(most, one.seconds);
    label = std::max(label, display_width(one.name));
    time = std::max(time, brief_seconds(one.seconds).size());
    largest = std::max(largest, one.largest.size());
  }
  const size_t taken = 2 + label + 2 + time + 2 + 2 + largest;
  const size_t width = style.width == 0 ? kWidestBar : std::min(kWidestBar, style.width - std::min(style.width, taken));
  std::string text;
  for (const PhaseBar& one : bars) {
    const std::string drawn = bar(most > 0 ? one.seconds / most : 0, width, style.unicode);
    std::string line = fmt::format("  {}  {}  {}", pad_right(one.name, label),
                                   pad_left(brief_seconds(one.seconds), time), pad_right(drawn, width));
    if (!one.largest.empty()) line += "  " + one.largest;
    text += without_trailing_spaces(std::move(line)) + "\n";
  }
  return text;
}

bool selects_none(const StepTrace& trace, const LaunchTest& test) {
  if (!test || trace.launch_count() == 0) return false;
  for (size_t i = 0; i < trace.launch_count(); ++i) {
    if (test(trace.launch(i))) return false;
  }
  return true;
}

// "; values of class here: matmul, softmax": what a selection can ask one column for.
std::string values_text(const StepTrace& trace, const std::string& column) {
  constexpr size_t kMost = 12;
  std::vector<std::string> values;
  size_t more = 0;
  std::set<std::string> seen;
  for (size_t i = 0; i < trace.launch_count(); ++i) {
    const Json value = launch_column(trace.launch(i), column);
    if (value.is_null() || value == "" || !seen.insert(plain_text(value)).second) continue;
    values.size() < kMost ? values.push_back(plain_text(value)) : void(++more);
  }
  if (values.empty()) return fmt::format("; no launch here has a {}", column);
  return fmt::format("; values of {} here: {}{}", column, joined(values, ", "),
                     more == 0 ? "" : fmt::format(" and {} more", more));
}

// "no launch matches 'class = matmull'; values of class here: matmul, softmax".
std::string no_launch_line(const StepTrace& trace, const ProfileQuery& query) {
  std::string text = "no launch matches " + (query.selection.empty() ? "the selection" : query.selection);
  for (const std::string& column :
       std::set<std::string>(query.selection_columns.begin(), query.selection_columns.end()))
    text += values_text(trace, column);
  return text;
}

std::string doubt_line(const std::vector<Finding>& findings) {
  const Finding* const tracing = find(findings, "tracing");
  if (tracing == nullptr || tracing->text("is_disturbed") != "true") return "";
  const double ratio = tracing->number("mean_ratio");
  return fmt::format("! traced steps took {} {}: trust shares, not times", whole_percent_text(std::abs(ratio - 1)),
                     ratio > 1 ? "longer" : "less");
}

// Phases with the residue and the whole, for programs.
Table phases_table(const std::vector<Finding>& findings) {
  Table table{.name = "phases",
              .columns = {text_of_rows("phase", "phase"),
                          {.key = "total_s", .title = "time", .unit = Unit::kSeconds},
                          {.key = "time_share", .title = "share", .unit = Unit::kFraction},
                          {.key = "launches", .title = "launches"},
                          {.key = "of_roofline", .title = "of bound", .unit = Unit::kFraction}}};
  const auto or_null = [](const Finding& finding, std::string_view key) {
    return finding.has(key) ? Json(finding.number(key)) : Json(nullptr);
  };
  const Finding& pass = *find(findings, "pass_time");
  const double whole = pass.number("total_s");
  for (const Finding& finding : findings) {
    if (finding.kind != "phase_time") continue;
    table.add({finding.subject, finding.number("total_s"), finding.number("share"), finding.integer("launches"),
               or_null(finding, "of_bound")});
  }
  const double residue = pass.number("residue_s");
  table.add({"residue", residue, whole > 0 ? Json(residue / whole) : Json(nullptr), nullptr, nullptr});
  const Finding* const bound = find(findings, "pass_bound");
  table.add(
      {"step", whole, 1.0, pass.integer("launches"), bound == nullptr ? Json(nullptr) : or_null(*bound, "of_bound")});
  return table;
}

// --verbose adds how far tracing changes the step, and the rates behind the bounds.
void say_details(const std::vector<Finding>& findings, PointAnswer& answer) {
  for (const Finding& finding : findings) {
    for (const std::string_view kind : {"class_share", "rates", "pass_bound", "tracing", "launch_sum", "marks",
                                        "launch_starts", "data_sheet_floor", "device_idle"}) {
      if (finding.kind == kind) answer.say("  " + words(finding));
    }
  }
}

}  // namespace

bool splits(ProfileView view, ProfileBy by) {
  const bool has_own_rows = view == ProfileView::kClasses || view == ProfileView::kAttention;
  switch (by) {
    case ProfileBy::kName:
    case ProfileBy::kPhase: return true;
    case ProfileBy::kShape: return !has_own_rows && view != ProfileView::kLayers;
    case ProfileBy::kLayer: return view != ProfileView::kAttention;
  }
  return true;
}

PointAnswer profile_answer(const Record& record, const StepTrace& trace, const ProfileQuery& query) {
  PointAnswer answer{.name = record.name,
                     .status = std::string(name_of(record.status)),
                     .reason = record.reason,
                     .findings = trace_findings(record, trace)};
  const std::vector<Finding>& findings = answer.findings;
  const bool is_empty = selects_none(trace, query.test);
  if (is_empty) answer.say(no_launch_line(trace, query));
  if (query.view == ProfileView::kAttention) {
    const Finding* const softmax = find(findings, "softmax_against_products");
    if (softmax != nullptr && !is_empty) answer.say(words(*softmax));
  }
  answer.say(profile_headline(findings));
  if (record.status != Status::kOk) answer.say(fmt::format("  {}: {}", name_of(record.status), record.reason));
  if (query.view == ProfileView::kSummary || query.view == ProfileView::kAll)
    answer.draw([bars = bars_of(findings)](const TextStyle& style) { return bars_text(bars, style); });
  answer.keep(phases_table(findings));
  if (!is_empty) {
    for (Table& table : profile_tables(trace, query)) {
      const bool is_for_people = query.view != ProfileView::kSummary || table.name == "kernels";
      is_for_people ? answer.show(std::move(table)) : answer.keep(std::move(table));
    }
  }
  if (query.verbose) say_details(findings, answer);
  answer.say(doubt_line(findings));
  return answer;
}

}  // namespace laptime
