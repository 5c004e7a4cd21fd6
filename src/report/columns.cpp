// The table of column sets, and columns by name.
#include "report/columns.h"

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

using Preset = std::pair<std::string_view, std::vector<Column> (*)()>;
constexpr std::array kPresets{Preset{"default", default_columns},
                              Preset{"2024", columns_2024},
                              Preset{"2025a", columns_2025_ab},
                              Preset{"2025b", columns_2025_ab},
                              Preset{"2025c", columns_2025_c},
                              Preset{"2025d", columns_2025_d},
                              Preset{"2025d_attention", columns_2025_d_attention},
                              Preset{"attention", columns_attention}};
constexpr auto kPresetNames = [] {
  std::array<std::string_view, kPresets.size()> names;
  for (size_t i = 0; i < names.size(); ++i) names[i] = kPresets[i].first;
  return names;
}();
constexpr std::string_view kSpeedup = "speedup";
constexpr std::string_view kGain = "gain";
constexpr size_t kMaxColumns = 200;

using Ratio = std::optional<double> (Baselines::*)(const Record&, std::string_view) const;

Column ratio_column(const char* title, const Baselines& baselines, Ratio ratio) {
  return {.title = title,
          .unit = Unit::kRatio,
          .of_phase = true,
          .compares = true,
          .extent = Extent::kWithConfig,
          .drop = 1,
          .width = 8,
          .read = [&baselines, ratio](const Row& row, std::string_view phase) {
            return json_of((baselines.*ratio)(row.record(), phase));
          }};
}

Column column_by_name(std::string_view name, const Records& records) {
  std::vector<std::string_view> others(kPresetNames.begin(), kPresetNames.end());
  others.push_back(kSpeedup);
  others.push_back(kGain);
  check_column(name, records, "columns", others);
  const Extent extent = extent_of_column(name);
  bool text = false;
  const std::string type = find_metric(name) != nullptr ? "number" : schema_type(name);
  if (type != "number" && type != "integer") {
    records.each(extent, [&](const Record& record) {
      text = Row(record).value(name).is_string();
      return !text;
    });
  }
  return {.title = std::string(name),
          .unit = unit_of(name),
          .text = text,
          .extent = extent,
          .width = 12,
          .read = named(name)};
}

}  // namespace

std::span<const std::string_view> column_presets() { return kPresetNames; }

std::vector<Column> columns_of(std::string_view list, const Baselines& baselines, const Records& records) {
  std::vector<Column> columns;
  while (true) {
    const size_t comma = list.find(',');
    const std::string_view name = list.substr(0, comma);
    const auto* const preset =
        std::find_if(kPresets.begin(), kPresets.end(), [&](const Preset& entry) { return entry.first == name; });
    if (preset != kPresets.end()) {
      for (Column& column : preset->second()) columns.push_back(std::move(column));
    } else if (name == kSpeedup) {
      columns.push_back(ratio_column("speed-up", baselines, &Baselines::speedup));
    } else if (name == kGain) {
      columns.push_back(ratio_column("gain", baselines, &Baselines::gain));
    } else {
      columns.push_back(column_by_name(name, records));
    }
    if (columns.size() > kMaxColumns) throw Error::format("columns: more than the limit of {}", kMaxColumns);
    if (comma == std::string_view::npos) return columns;
    list.remove_prefix(comma + 1);
  }
}

Extent extent_of_columns(std::span<const Column> columns) {
  Extent extent = Extent::kListed;
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
