// The table of column sets, and columns by name.
#include "report/columns.h"

#include <fmt/format.h>

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
    ColumnSet{"default", "", "time with its phases, rate and memory of each row", default_columns},
    ColumnSet{"all", "", "mean, minimum, maximum, loss and verdict too; in files every key of a record", all_columns},
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

// clang-format off
constexpr std::array kConfiguration{
    DataColumn{"name", "name"}, DataColumn{"label", "label"}, DataColumn{"status", "status"},
    DataColumn{"predicted", "predicted"}, DataColumn{"system", "system"}, DataColumn{"device", "device"},
    DataColumn{"threads", "threads"}, DataColumn{"pass", "pass"}, DataColumn{"mode", "mode"},
    DataColumn{"dtype", "dtype"}, DataColumn{"model", "model"}, DataColumn{"edition", "edition"},
    DataColumn{"d_model", "d_model"}, DataColumn{"d_ff", "d_ff"}, DataColumn{"num_layers", "num_layers"},
    DataColumn{"num_heads", "num_heads"}, DataColumn{"vocab_size", "vocab_size"},
    DataColumn{"context_length", "context_length"}, DataColumn{"batch_size", "batch_size"},
    DataColumn{"recompute", "recompute"}, DataColumn{"lower", "lower"}, DataColumn{"keep", "keep"},
    DataColumn{"float32_precision", "float32_precision"}, DataColumn{"optimizer", "optimizer"},
    DataColumn{"seed", "seed"}};
constexpr std::array kResults{
    DataColumn{"count", "count"}, DataColumn{"median_s", "median"}, DataColumn{"mean_s", "mean"},
    DataColumn{"std_s", "std"}, DataColumn{"min_s", "min"}, DataColumn{"max_s", "max"},
    DataColumn{"ci_low_s", "ci_low"}, DataColumn{"ci_high_s", "ci_high"},
    DataColumn{"forward_s", "forward_time"}, DataColumn{"backward_s", "backward_time"},
    DataColumn{"optimizer_s", "optimizer_time"}, DataColumn{"tokens_per_second", "tokens_per_second"},
    DataColumn{"mfu", "mfu"}, DataColumn{"peak_bytes", "memory.peak_bytes"},
    DataColumn{"predicted_peak_bytes", "memory.predicted_peak_bytes"},
    DataColumn{"peak_rss_bytes", "memory.peak_rss_bytes"}, DataColumn{"loss_first", "loss_first"},
    DataColumn{"loss_last", "loss_last"}, DataColumn{"setup_s", "setup_time"},
    DataColumn{"first_steps_s", "transient_excess"}, DataColumn{"verdict", "verdict"},
    DataColumn{"arithmetic", "math_mode"}, DataColumn{"reason", "reason"}, DataColumn{"fingerprint", "fingerprint"},
    DataColumn{"commit", "commit"}, DataColumn{"created", "created"}, DataColumn{"sweep", "sweep"},
    DataColumn{"run", "run"}};
// clang-format on

using Ratio = std::optional<Speedup> (Speedups::*)(const Record&, std::string_view) const;
using Figure = double (*)(const Speedup&);

struct RatioColumn {
  std::string_view name;
  Ratio ratio;
  Figure figure;
  bool is_whole = false;  // people read it with its interval
};
constexpr Figure kValue = [](const Speedup& ratio) { return ratio.value; };
constexpr Figure kLow = [](const Speedup& ratio) { return ratio.interval.low; };
constexpr Figure kHigh = [](const Speedup& ratio) { return ratio.interval.high; };
constexpr std::array kRatioColumns{
    RatioColumn{"speedup", &Speedups::speedup, kValue, true}, RatioColumn{"speedup_low", &Speedups::speedup, kLow},
    RatioColumn{"speedup_high", &Speedups::speedup, kHigh},   RatioColumn{"gain", &Speedups::gain, kValue, true},
    RatioColumn{"gain_low", &Speedups::gain, kLow},           RatioColumn{"gain_high", &Speedups::gain, kHigh}};

Column column_of(const RatioColumn& column, const Speedups& speedups) {
  Column made{.title = std::string(column.name),
              .unit = Unit::kRatio,
              .of_phase = true,
              .compares = true,
              .extent = Extent::kWhole,  // the interval is made of the samples
              .width = 17,
              .read = [&speedups, column](const Row& row, std::string_view phase) -> Json {
                const std::optional<Speedup> ratio = (speedups.*column.ratio)(row.record(), phase);
                return ratio ? Json(column.figure(*ratio)) : Json(nullptr);
              }};
  if (column.is_whole) {
    made.text_of = [&speedups, column](const Row& row, std::string_view phase, const CellContext&) {
      return speedup_text((speedups.*column.ratio)(row.record(), phase));
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
    return other.title == column.title && other.unit == column.unit && other.note == column.note;
  });
  if (same == end) columns.push_back(std::move(column));
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
                .read = named(name)};
  return resolved == "std_population" ? of_population(std::move(column)) : column;
}

}  // namespace

std::string Column::cell(const Row& row, std::string_view phase, const CellContext& context) const {
  if (text_of) return text_of(row, phase, context);
  const std::optional<double> doubt = uncertainty ? uncertainty(row, phase) : std::nullopt;
  return value_text(read(row, phase), unit, std::nullopt, doubt.value_or(0));
}

std::string speedup_text(const std::optional<Speedup>& speedup) {
  if (!speedup) return "-";
  const auto& [low, high] = speedup->interval;
  if (low == high) return speedup->value == 1 ? "1x" : value_text(speedup->value, Unit::kRatio);
  return ratio_with_interval(speedup->value, low, high);
}

std::span<const ColumnSet> column_sets() { return kSets; }

std::vector<std::string_view> comparing_columns() {
  std::vector<std::string_view> names;
  names.reserve(kRatioColumns.size());
  for (const RatioColumn& column : kRatioColumns) names.push_back(column.name);
  return names;
}

bool compares_rows(std::string_view name) { return find_ratio(name) != nullptr; }

Json compared_value(std::string_view name, const Speedups& speedups, const Record& record) {
  return column_of(*find_ratio(name), speedups).read(Row(record), "");
}

std::vector<Column> columns_of(std::string_view list, const Speedups& speedups, const Records& records) {
  std::vector<Column> columns;
  bool has_set = false;
  while (true) {
    const size_t comma = list.find(',');
    const size_t earlier = columns.size();
    const std::string_view name = list.substr(0, comma);
    const ColumnSet* const set = find_set(name);
    if (set != nullptr) {
      for (Column& column : set->columns()) add_once(columns, earlier, std::move(column));
    } else if (const RatioColumn* const ratio = find_ratio(name)) {
      add_once(columns, earlier, column_of(*ratio, speedups));
    } else {
      add_once(columns, earlier, column_by_name(name, records));
    }
    if (columns.size() > kMaxColumns) throw Error::format("columns: more than the limit of {}", kMaxColumns);
    has_set = has_set || set != nullptr;
    if (comma == std::string_view::npos) break;
    list.remove_prefix(comma + 1);
  }
  // A list of single columns gets a row for each record and none for its phases.
  for (Column& column : columns) column.of_phase = column.of_phase && has_set;
  return columns;
}

std::vector<Column> data_columns(std::string_view list, const Speedups& speedups, const Records& records) {
  constexpr std::string_view kDefault = "default";
  if (list.substr(0, list.find(',')) != kDefault) return columns_of(list, speedups, records);
  std::vector<Column> columns;
  for (const std::span<const DataColumn> part :
       {std::span<const DataColumn>(kConfiguration), std::span<const DataColumn>(kResults)}) {
    for (const DataColumn& column : part) {
      columns.push_back({.title = std::string(column.header),
                         .extent = extent_of_column(column.column),
                         .read = named(column.column)});
    }
  }
  if (list.size() == kDefault.size()) return columns;
  for (Column& column : columns_of(list.substr(kDefault.size() + 1), speedups, records)) {
    columns.push_back(std::move(column));
  }
  return columns;
}

std::span<const DataColumn> configuration_columns() { return kConfiguration; }

void plan_speedups(std::span<const Column> columns, const Records& records, Speedups& speedups) {
  if (std::none_of(columns.begin(), columns.end(), [](const Column& column) { return column.compares; })) return;
  records.each(Extent::kWithConfig, [&](const Record& record) {
    speedups.plan(record);
    return true;
  });
}

void add_speedups(std::span<const Column> columns, const Records& records, Speedups& speedups) {
  if (std::none_of(columns.begin(), columns.end(), [](const Column& column) { return column.compares; })) return;
  records.each(Extent::kWhole, [&](const Record& record) {
    speedups.add(record);
    return true;
  });
}

std::string summary_of_columns(std::string_view list, const Records& records) {
  const ColumnSet* const set = set_with_summary(list);
  return set == nullptr ? "" : set->summary(records);
}

Extent extent_of_columns(std::span<const Column> columns) {
  Extent extent = Extent::kListed;
  for (const Column& column : columns) extent = std::max(extent, column.extent);
  return extent;
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
