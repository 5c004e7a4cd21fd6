// Profiles side by side: the parts of two, the cost of casts, and how shares change from pass to pass.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "report/phrases.h"
#include "report/profile_answer.h"
#include "table/value_text.h"

namespace laptime {
namespace {

// The table and key of a comparison, and the view that shows it.
struct ComparedRows {
  ProfileView view;
  const char* name;
  ComparedBy by;
};
constexpr std::array kCompared{ComparedRows{ProfileView::kClasses, "compared_classes", ComparedBy::kClass},
                               ComparedRows{ProfileView::kLayers, "compared_parts", ComparedBy::kPart},
                               ComparedRows{ProfileView::kKernels, "compared_kernels", ComparedBy::kKernel},
                               ComparedRows{ProfileView::kOps, "compared_ops", ComparedBy::kOp},
                               ComparedRows{ProfileView::kAttention, "compared_attention", ComparedBy::kAttention}};

TableColumn data_column(std::string key) { return {.key = std::move(key), .unit = Unit::kRatio, .for_people = false}; }

// The ratio with its interval as people read it, and its ends for programs.
std::vector<TableCell> ratio_cells(const std::optional<double>& ratio, const std::optional<Interval>& interval) {
  if (!ratio) return {nullptr, nullptr, nullptr};
  if (!interval) return {*ratio, nullptr, nullptr};
  return {{*ratio, ratio_with_interval(*ratio, interval->low, interval->high)}, interval->low, interval->high};
}

}  // namespace

std::vector<Table> compared_tables(const ComparedProfile& a, const ComparedProfile& b, ProfileView view) {
  std::vector<Table> tables;
  for (const ComparedRows& one : kCompared) {
    const bool is_of_summary = one.view == ProfileView::kClasses || one.view == ProfileView::kLayers;
    const bool is_shown =
        view == one.view || view == ProfileView::kAll || (view == ProfileView::kSummary && is_of_summary);
    if (!is_shown) continue;
    Table table{.name = one.name,
                .columns = {text_of_rows("part", ""),
                            {.key = a.title + "_s", .title = a.title, .unit = Unit::kSeconds},
                            {.key = b.title + "_s", .title = b.title, .unit = Unit::kSeconds},
                            {.key = "saved_s", .title = "saved", .unit = Unit::kSeconds},
                            {.key = "speedup", .title = "gain", .unit = Unit::kRatio},
                            data_column("speedup_low"),
                            data_column("speedup_high")}};
    for (const ComparedPart& part : compared_parts(*a.trace, *b.trace, one.by)) {
      std::vector<TableCell> cells{part.part, part.a, part.b, part.saved()};
      if (part.part == "step") cells.front().text = pass_of(*a.trace);
      for (TableCell& cell : ratio_cells(part.ratio, part.interval)) cells.push_back(std::move(cell));
      table.add(std::move(cells));
    }
    tables.push_back(std::move(table));
  }
  return tables;
}

Table cast_table(const std::vector<std::pair<ComparedProfile, ComparedProfile>>& pairs) {
  Table table{.name = "casts",
              .columns = {text_of_rows("point", "point"),
                          text_of_rows("from", "from"),
                          text_of_rows("to", "to"),
                          {.key = "casts_s", .title = "casts", .unit = Unit::kSeconds},
                          {.key = "cast_share", .title = "share", .unit = Unit::kFraction},
                          {.key = "from_s", .title = "before", .unit = Unit::kSeconds, .drop = 1},
                          {.key = "to_s", .title = "after", .unit = Unit::kSeconds, .drop = 1},
                          {.key = "speedup", .title = "gain", .unit = Unit::kRatio},
                          data_column("speedup_low"),
                          data_column("speedup_high")}};
  for (const auto& [a, b] : pairs) {
    const Finding cost = cast_cost(a, b);
    const auto value = [&](std::string_view key) { return cost.has(key) ? Json(cost.number(key)) : Json(nullptr); };
    std::vector<TableCell> cells{cost.subject,        cost.text("from"), cost.text("to"), value("casts_s"),
                                 value("cast_share"), value("from_s"),   value("to_s")};
    std::optional<Interval> interval;
    if (cost.has("speedup_low")) interval = Interval{cost.number("speedup_low"), cost.number("speedup_high")};
    const auto ratio = cost.has("speedup") ? std::optional(cost.number("speedup")) : std::nullopt;
    for (TableCell& cell : ratio_cells(ratio, interval)) cells.push_back(std::move(cell));
    table.add(std::move(cells));
  }
  return table;
}

Table class_share_table(const std::vector<ComparedProfile>& profiles) {
  Table table{.name = "class_shares", .columns = {text_of_rows("class", "class")}};
  std::map<std::string, std::vector<double>> shares;
  std::vector<TableCell> residue{"residue"};
  for (size_t i = 0; i < profiles.size(); ++i) {
    const StepTotals totals = totals_of(*profiles[i].trace);
    table.columns.push_back({.key = profiles[i].title + "_share", .title = profiles[i].title, .unit = Unit::kFraction});
    for (const LaunchSum& sum : sum_launches(*profiles[i].trace, class_of)) {
      std::vector<double>& row = shares[sum.key];
      row.resize(profiles.size());
      row[i] = sum.total / totals.step;
    }
    residue.emplace_back(totals.residue() / totals.step);
  }
  std::vector<std::pair<std::string, std::vector<double>>> rows(shares.begin(), shares.end());
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.second[0] > b.second[0]; });
  for (const auto& [name, values] : rows) {
    std::vector<TableCell> cells{name};
    for (const double share : values) cells.emplace_back(share);
    table.add(std::move(cells));
  }
  table.add(std::move(residue));
  return table;
}

PointAnswer compared_answer(const ComparedProfile& a, const ComparedProfile& b, ProfileView view) {
  PointAnswer answer{.name = fmt::format("{} against {}: {}", a.title, b.title, b.point)};
  const ComparedPart whole = compared_parts(*a.trace, *b.trace, ComparedBy::kClass).back();
  if (whole.ratio) {
    const std::string ratio = whole.interval
                                  ? ratio_with_interval(*whole.ratio, whole.interval->low, whole.interval->high)
                                  : fmt::format("{:.2f}x", *whole.ratio);
    answer.say(fmt::format("{} is {} as fast as {}: {} against {}", b.title, ratio, a.title, brief_seconds(*whole.b),
                           brief_seconds(*whole.a)));
  }
  for (Table& table : compared_tables(a, b, view)) answer.show(std::move(table));
  answer.say(disturbed_line({a, b}));
  return answer;
}

std::string disturbed_line(const std::vector<ComparedProfile>& profiles) {
  const auto count = std::count_if(profiles.begin(), profiles.end(),
                                   [](const ComparedProfile& profile) { return is_disturbed(*profile.trace); });
  if (count == 0) return "";
  return fmt::format("! {} of {} profiles {} disturbed: trust shares, not times", count, profiles.size(),
                     count == 1 ? "is" : "are");
}

}  // namespace laptime
