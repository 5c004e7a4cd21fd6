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
constexpr size_t kMaxColumns = 200;

using Ratio = std::optional<TimeRatio> (Baselines::*)(const Record&, std::string_view) const;
using Figure = std::optional<double> (*)(const TimeRatio&);

struct RatioColumn {
  std::string_view name;
  const char* title;
  Ratio ratio;
  Figure figure;
  bool shows_interval = false;
};
constexpr Figure kValue = [](const TimeRatio& ratio) { return std::optional(ratio.value); };
constexpr Figure kLow = [](const TimeRatio& ratio) {
  return ratio.interval ? std::optional(ratio.interval->low) : std::nullopt;
};
constexpr Figure kHigh = [](const TimeRatio& ratio) {
  return ratio.interval ? std::optional(ratio.interval->high) : std::nullopt;
};
constexpr std::array kRatioColumns{RatioColumn{"speedup", "speed-up", &Baselines::speedup, kValue, true},
                                   RatioColumn{"speedup_low", "speed-up low", &Baselines::speedup, kLow},
                                   RatioColumn{"speedup_high", "speed-up high", &Baselines::speedup, kHigh},
                                   RatioColumn{"gain", "gain", &Baselines::gain, kValue, true},
                                   RatioColumn{"gain_low", "gain low", &Baselines::gain, kLow},
                                   RatioColumn{"gain_high", "gain high", &Baselines::gain, kHigh}};

// "1.82x (1.80 .. 1.85)", or the ratio alone where there is no interval.
std::string ratio_text(const std::optional<TimeRatio>& ratio) {
  if (!ratio) return "-";
  std::string text = fmt::format("{:.2f}x", ratio->value);
  if (ratio->interval) text += fmt::format(" ({:.2f} .. {:.2f})", ratio->interval->low, ratio->interval->high);
  return text;
}

Column column_of(const RatioColumn& column, const Baselines& baselines) {
  Column made{.title = column.title,
              .unit = Unit::kRatio,
              .of_phase = true,
              .compares = true,
              .extent = Extent::kWhole,  // the interval is made of the samples
              .drop = 1,
              .width = column.shows_interval ? size_t{20} : size_t{8},
              .read = [&baselines, column](const Row& row, std::string_view phase) -> Json {
                const std::optional<TimeRatio> ratio = (baselines.*column.ratio)(row.record(), phase);
                return ratio ? json_of(column.figure(*ratio)) : Json(nullptr);
              }};
  if (column.shows_interval) {
    made.text_of = [&baselines, column](const Row& row, std::string_view phase) {
      return ratio_text((baselines.*column.ratio)(row.record(), phase));
    };
  }
  return made;
}

Column column_by_name(std::string_view name, const Records& records) {
  std::vector<std::string_view> others(kPresetNames.begin(), kPresetNames.end());
  for (const RatioColumn& column : kRatioColumns) others.push_back(column.name);
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
    const auto* const ratio = std::find_if(kRatioColumns.begin(), kRatioColumns.end(),
                                           [&](const RatioColumn& column) { return column.name == name; });
    if (preset != kPresets.end()) {
      for (Column& column : preset->second()) columns.push_back(std::move(column));
    } else if (ratio != kRatioColumns.end()) {
      columns.push_back(column_of(*ratio, baselines));
    } else {
      columns.push_back(column_by_name(name, records));
    }
    if (columns.size() > kMaxColumns) throw Error::format("columns: more than the limit of {}", kMaxColumns);
    if (comma == std::string_view::npos) return columns;
    list.remove_prefix(comma + 1);
  }
}

Extent extent_of_columns(std::span<const Column> columns, bool details) {
  const bool has_phases = std::any_of(columns.begin(), columns.end(), [](const Column& c) { return c.of_phase; });
  Extent extent = details && has_phases ? Extent::kListed : Extent::kRow;
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
