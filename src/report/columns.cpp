// The table of column sets, and columns by name.
#include "report/columns.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "base/units.h"
#include "base/words.h"
#include "report/column_sets/column_sets.h"
#include "report/column_sets/readers.h"

namespace laptime {

using namespace cells;

namespace {

constexpr std::array kSets{
    ColumnSet{"default", "", "time, rate, memory and verdict of each row", default_columns},
    ColumnSet{"all", "", "the same with mean, minimum and maximum; in files every key of a record", all_columns},
    ColumnSet{
        "attention", "",
        "attention alone: each phase, and memory: resident (the documents' model), before_backward (model + forward)",
        columns_attention},
    ColumnSet{"first_steps", "", "what warm-up does: mean, standard deviation and the first samples",
              columns_first_steps},
    ColumnSet{"prediction", "", "predicted beside measured: time and memory", columns_prediction, prediction_summary},
    ColumnSet{"all_times", "2024",
              "a document's table: every sample of a row, with mean, median, minimum, maximum and sum", columns_2024},
    ColumnSet{"mean_std", "",
              "each phase of each row: mean and standard deviation over n steps, minimum, maximum, and the verdict",
              columns_mean_std},
    ColumnSet{"avg_std", "2025a", "a document's table: warm-up and measured steps, mean and standard deviation",
              columns_2025_ab},
    ColumnSet{"avg_std", "2025b", "the same", columns_2025_ab},
    ColumnSet{"min_max", "2025c", "a document's table: minimum, maximum, mean and standard deviation", columns_2025_c},
    ColumnSet{"forward_backward", "2025d",
              "a document's table: mean and standard deviation of forward, backward and both", columns_2025_d},
    ColumnSet{"attention_memory", "2025d_attention",
              "the same of attention alone, with memory: model, model+fwd, model+fwd+back, fwd, back",
              columns_2025_d_attention}};
constexpr size_t kMaxColumns = 200;

using Ratio = std::optional<TimeRatio> (Baselines::*)(const Record&, std::string_view) const;
using Figure = std::optional<double> (*)(const TimeRatio&);
using Reason = std::string (Baselines::*)(const Record&, std::string_view) const;

struct RatioColumn {
  std::string_view name;
  const char* title;
  Ratio ratio;
  Figure figure;
  Reason why_none = nullptr;  // null: the cell is a figure alone
  Ratio rough = nullptr;      // what the cell shows where a verdict is against the ratio
};
constexpr Figure kValue = [](const TimeRatio& ratio) { return std::optional(ratio.value); };
constexpr Figure kLow = [](const TimeRatio& ratio) {
  return ratio.interval ? std::optional(ratio.interval->low) : std::nullopt;
};
constexpr Figure kHigh = [](const TimeRatio& ratio) {
  return ratio.interval ? std::optional(ratio.interval->high) : std::nullopt;
};
constexpr std::array kRatioColumns{
    RatioColumn{"speedup", "speedup", &Baselines::speedup, kValue, &Baselines::why_no_speedup,
                &Baselines::rough_speedup},
    RatioColumn{"speedup_low", "speedup_low", &Baselines::speedup, kLow},
    RatioColumn{"speedup_high", "speedup_high", &Baselines::speedup, kHigh},
    RatioColumn{"gain", "gain", &Baselines::gain, kValue, &Baselines::why_no_gain, &Baselines::rough_gain},
    RatioColumn{"gain_low", "gain_low", &Baselines::gain, kLow},
    RatioColumn{"gain_high", "gain_high", &Baselines::gain, kHigh}};

// "1.82x (1.80 .. 1.85)", the ratio alone where there is no interval, or "- (untested)" with why there is none.
std::string ratio_text(const std::optional<TimeRatio>& ratio, bool is_baseline, const std::string& why_none) {
  if (!ratio) return why_none.empty() ? "-" : fmt::format("- ({})", why_none);
  std::string text = fmt::format("{:.2f}x", ratio->value);
  if (is_baseline) return text + " (baseline)";
  if (ratio->interval) text += fmt::format(" ({:.2f} .. {:.2f})", ratio->interval->low, ratio->interval->high);
  return text;
}

Column column_of(const RatioColumn& column, const Baselines& baselines) {
  Column made{.title = column.title,
              .unit = Unit::kRatio,
              .of_phase = true,
              .compares = true,
              .extent = Extent::kWhole,  // the interval is made of the samples
              .width = 7,
              .read = [&baselines, column](const Row& row, std::string_view phase) -> Json {
                const std::optional<TimeRatio> ratio = (baselines.*column.ratio)(row.record(), phase);
                return ratio ? json_of(column.figure(*ratio)) : Json(nullptr);
              }};
  if (column.why_none != nullptr) {
    made.bracket_width = 19;  // of "(baseline untested)"
    const bool is_speedup = column.ratio == &Baselines::speedup;
    made.text_of = [&baselines, column, is_speedup](const Row& row, std::string_view phase, const CellContext&) {
      const bool is_baseline = is_speedup && baselines.is_baseline(row.record());
      if (const auto rough = (baselines.*column.rough)(row.record(), phase))
        return fmt::format("{}{:.2f}x", kRoughMark, rough->value);
      return ratio_text((baselines.*column.ratio)(row.record(), phase), is_baseline,
                        (baselines.*column.why_none)(row.record(), phase));
    };
  }
  return made;
}

const RatioColumn* find_ratio(std::string_view name) {
  name = name.substr(0, name.find(" vs "));
  const auto* const found = std::find_if(kRatioColumns.begin(), kRatioColumns.end(),
                                         [&](const RatioColumn& column) { return column.name == name; });
  const bool is_hyphenated = name == "speed-up";
  return found != kRatioColumns.end() ? found : is_hyphenated ? kRatioColumns.data() : nullptr;
}

const ColumnSet* find_set(std::string_view name) {
  const auto* const found = std::find_if(kSets.begin(), kSets.end(), [&](const ColumnSet& known) {
    return known.name == name || (!known.alias.empty() && known.alias == name);
  });
  return found == kSets.end() ? nullptr : found;
}

// The first set in a list of columns that sums its rows up; nullptr for none.
const ColumnSet* set_with_summary(std::string_view list) {
  while (true) {
    const size_t comma = list.find(',');
    const ColumnSet* const set = find_set(list.substr(0, comma));
    if (set != nullptr && set->summary != nullptr) return set;
    if (comma == std::string_view::npos) return nullptr;
    list.remove_prefix(comma + 1);
  }
}

// Appends a column unless one of the first `earlier` columns is the same.
void add_once(std::vector<Column>& columns, size_t earlier, Column column) {
  const auto end = columns.begin() + static_cast<std::ptrdiff_t>(earlier);
  const auto same = std::find_if(columns.begin(), end, [&](const Column& other) {
    return other.title == column.title && other.remark == column.remark && other.unit == column.unit &&
           other.note == column.note;
  });
  if (same == end) {
    columns.push_back(std::move(column));
    return;
  }
  same->then_reason = same->then_reason || column.then_reason;
  same->then_notes = same->then_notes || column.then_notes;
  same->then_first_steps = same->then_first_steps || column.then_first_steps;
}

bool is_setting(std::string_view resolved) {
  return resolved.starts_with("config.") || resolved == "model" || resolved == "system" || resolved == "name" ||
         resolved == "label";
}

Column column_by_name(std::string_view name, const Records& records) {
  if (const Column* const known = table_column(name)) {
    Column column = *known;
    column.drop = 0;
    return column;
  }
  std::vector<std::string_view> others;
  for (const ColumnSet& set : kSets) {
    others.push_back(set.name);
    if (!set.alias.empty()) others.push_back(set.alias);
  }
  for (const RatioColumn& column : kRatioColumns) others.push_back(column.name);
  check_column(name, records, "columns", others);
  if (const Column* const document = document_column(name)) {
    const bool has_own_meaning = find_metric(name) != nullptr || !schema_type(name).empty() || is_derived_column(name);
    if (resolved_column(name) == name && !has_own_meaning) return *document;
  }
  const Extent extent = extent_of_column(name);
  const std::string resolved = resolved_column(name);
  bool text = false;
  const std::string type = find_metric(resolved) != nullptr ? "number" : schema_type(resolved);
  if (type != "number" && type != "integer") {
    records.each(extent, [&](const Record& record) {
      text = Row(record).value(name).is_string();
      return !text;
    });
  }
  Column column{.title = std::string(name),
                .unit = unit_of(name),
                .text = text,
                .setting = is_setting(resolved),
                .extent = extent,
                .width = 12,
                .read = named(name),
                .marks_predicted = false};
  return resolved == "std_population" ? of_population(std::move(column)) : column;
}

}  // namespace

std::string Column::cell(const Row& row, std::string_view phase, const CellContext& context) const {
  if (text_of) return text_of(row, phase, context);
  const Json value = read(row, phase);
  if (context.scale == nullptr || !value.is_number()) return format_value(value, unit);
  return format_in(*context.scale, value.get<double>(), value.get<double>());
}

std::span<const ColumnSet> column_sets() { return kSets; }

std::vector<std::string_view> comparing_columns() {
  std::vector<std::string_view> names;
  names.reserve(kRatioColumns.size());
  for (const RatioColumn& column : kRatioColumns) names.push_back(column.name);
  return names;
}

bool compares_rows(std::string_view name) { return find_ratio(name) != nullptr; }

Json compared_value(std::string_view name, const Baselines& baselines, const Record& record) {
  return column_of(*find_ratio(name), baselines).read(Row(record), "");
}

std::vector<Column> columns_of(std::string_view list, const Baselines& baselines, const Records& records) {
  std::vector<Column> columns;
  bool has_set = false;
  while (true) {
    const size_t comma = list.find(',');
    const size_t earlier = columns.size();
    const std::string_view name = list.substr(0, comma);
    const ColumnSet* const set = find_set(name);
    if (set != nullptr) {
      for (Column& column : set->columns()) {
        column.of_document = !set->alias.empty();
        add_once(columns, earlier, std::move(column));
      }
    } else if (const RatioColumn* const ratio = find_ratio(name)) {
      add_once(columns, earlier, column_of(*ratio, baselines));
    } else {
      add_once(columns, earlier, column_by_name(name, records));
    }
    if (columns.size() > kMaxColumns) throw Error::format("columns: more than the limit of {}", kMaxColumns);
    has_set = has_set || set != nullptr;
    if (comma == std::string_view::npos) break;
    list.remove_prefix(comma + 1);
  }
  // Whoever lists columns one by one wants a row for each record, and none for its phases.
  for (Column& column : columns) column.of_phase = column.of_phase && has_set;
  return columns;
}

void plan_baselines(std::vector<Column>& columns, const Records& records, Baselines& baselines) {
  if (std::none_of(columns.begin(), columns.end(), [](const Column& column) { return column.compares; })) return;
  records.each(Extent::kWithConfig, [&](const Record& record) {
    baselines.plan(record);
    return true;
  });
  const std::vector<std::string> descriptions = baselines.descriptions();
  if (descriptions.empty()) return;
  for (Column& column : columns) {
    if (column.compares && column.title == kRatioColumns.front().title) {
      column.remark =
          descriptions.size() > 2 ? "vs each run's baseline" : fmt::format("vs {}", fmt::join(descriptions, " or "));
    }
  }
}

std::string summary_of_columns(std::string_view list, const Records& records) {
  const ColumnSet* const set = set_with_summary(list);
  return set == nullptr ? "" : set->summary(records);
}

bool have_summary(std::string_view list) { return set_with_summary(list) != nullptr; }

bool have_notes(std::span<const Column> columns) {
  return std::any_of(columns.begin(), columns.end(), [](const Column& c) { return c.of_phase || c.then_notes; });
}

Extent extent_of_columns(std::span<const Column> columns, bool details) {
  Extent extent = details && have_notes(columns) ? Extent::kWhole : Extent::kListed;
  for (const Column& column : columns) extent = std::max(extent, column.extent);
  return extent;
}

void add_baselines(std::span<const Column> columns, const Records& records, Baselines& baselines) {
  if (std::none_of(columns.begin(), columns.end(), [](const Column& column) { return column.compares; })) return;
  records.each(Extent::kWithConfig, [&](const Record& record) {
    baselines.add(record);
    return true;
  });
}

std::string reason_of(const Record& record) {
  if (record.status == Status::kOk) return "";
  std::string reason = record.reason.empty() ? "no reason stated" : record.reason;
  const bool has_arithmetic = reason.find("iB") != std::string::npos;
  if (record.bytes_requested && !has_arithmetic) reason += "; asked for " + format_bytes(*record.bytes_requested);
  if (record.bytes_available && !has_arithmetic) reason += "; available " + format_bytes(*record.bytes_available);
  if (!record.op.empty()) reason += fmt::format("; op {}", record.op);
  if (!record.scope.empty()) reason += fmt::format("; at {}", record.scope);
  return reason;
}

}  // namespace laptime
