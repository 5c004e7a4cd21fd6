// The table of narrow columns.
#include "report/narrow.h"

#include <array>

#include "report/column_sets/readers.h"

namespace laptime {
namespace {

// clang-format off
constexpr std::array kConfiguration{
    NarrowColumn{"name", "name"}, NarrowColumn{"label", "label"}, NarrowColumn{"status", "status"},
    NarrowColumn{"predicted", "predicted"}, NarrowColumn{"system", "system"}, NarrowColumn{"device", "device"}, NarrowColumn{"threads", "threads"},
    NarrowColumn{"pass", "pass"}, NarrowColumn{"mode", "mode"}, NarrowColumn{"dtype", "dtype"},
    NarrowColumn{"model", "model"}, NarrowColumn{"edition", "edition"}, NarrowColumn{"d_model", "d_model"},
    NarrowColumn{"d_ff", "d_ff"}, NarrowColumn{"num_layers", "num_layers"}, NarrowColumn{"num_heads", "num_heads"},
    NarrowColumn{"vocab_size", "vocab_size"}, NarrowColumn{"context_length", "context_length"},
    NarrowColumn{"batch_size", "batch_size"}, NarrowColumn{"recompute", "recompute"}, NarrowColumn{"lower", "lower"},
    NarrowColumn{"keep", "keep"}, NarrowColumn{"float32_precision", "float32_precision"},
    NarrowColumn{"optimizer", "optimizer"}, NarrowColumn{"seed", "seed"}};
constexpr std::array kResults{
    NarrowColumn{"count", "count"}, NarrowColumn{"median_s", "median"}, NarrowColumn{"mean_s", "mean"},
    NarrowColumn{"std_s", "std"}, NarrowColumn{"min_s", "min"}, NarrowColumn{"max_s", "max"},
    NarrowColumn{"ci_low_s", "ci_low"}, NarrowColumn{"ci_high_s", "ci_high"},
    NarrowColumn{"forward_s", "forward_time"}, NarrowColumn{"backward_s", "backward_time"},
    NarrowColumn{"optimizer_s", "optimizer_time"}, NarrowColumn{"tokens_per_second", "tokens_per_second"},
    NarrowColumn{"mfu", "mfu"}, NarrowColumn{"peak_bytes", "memory.peak_bytes"},
    NarrowColumn{"predicted_peak_bytes", "memory.predicted_peak_bytes"},
    NarrowColumn{"peak_rss_bytes", "memory.peak_rss_bytes"}, NarrowColumn{"loss_first", "loss_first"},
    NarrowColumn{"loss_last", "loss_last"}, NarrowColumn{"setup_s", "setup_time"},
    NarrowColumn{"first_steps_s", "transient_excess"}, NarrowColumn{"verdict", "verdict"},
    NarrowColumn{"arithmetic", "math_mode"}, NarrowColumn{"reason", "reason"}, NarrowColumn{"fingerprint", "fingerprint"},
    NarrowColumn{"commit", "commit"}, NarrowColumn{"created", "created"}, NarrowColumn{"sweep", "sweep"},
    NarrowColumn{"run", "run"}};
// clang-format on

constexpr auto kNarrow = [] {
  std::array<NarrowColumn, kConfiguration.size() + kResults.size()> all{};
  for (size_t i = 0; i < kConfiguration.size(); ++i) all[i] = kConfiguration[i];
  for (size_t i = 0; i < kResults.size(); ++i) all[kConfiguration.size() + i] = kResults[i];
  return all;
}();

}  // namespace

std::span<const NarrowColumn> configuration_columns() { return kConfiguration; }
std::span<const NarrowColumn> narrow_columns() { return kNarrow; }

std::vector<Column> data_columns(std::string_view list, const Baselines& baselines, const Records& records) {
  constexpr std::string_view kDefault = "default";
  std::vector<Column> columns;
  if (list.substr(0, list.find(',')) != kDefault) return columns_of(list, baselines, records);
  columns.reserve(kNarrow.size());
  for (const NarrowColumn& narrow : kNarrow) {
    columns.push_back({.title = std::string(narrow.header),
                       .extent = extent_of_column(narrow.column),
                       .read = cells::named(narrow.column)});
  }
  if (list.size() == kDefault.size()) return columns;
  for (Column& column : columns_of(list.substr(kDefault.size() + 1), baselines, records)) {
    columns.push_back(std::move(column));
  }
  return columns;
}

std::string json_row(std::span<const Column> columns, const Record& record) {
  Json row = Json::object();
  for (const Column& column : columns) row[column.title] = column.read(Row(record), "");
  return ascii_text(row) + "\n";
}

}  // namespace laptime
