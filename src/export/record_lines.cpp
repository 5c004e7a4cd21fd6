// Records line by line: CSV with one value per cell and units in column names, and complete records as JSON.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/json.h"
#include "base/words.h"
#include "config/fields_json.h"
#include "export/formats.h"
#include "record/metrics.h"
#include "report/record_files.h"

namespace laptime {
namespace {

// "median_s", "rate_tokens_per_s"; "tokens_per_second" already includes its unit.
std::string column_of(std::string_view name, Unit unit) {
  if (unit == Unit::kNone || name.ends_with("_per_second")) return std::string(name);
  std::string words = lowered(name_of(unit));
  if (const size_t slash = words.find('/'); slash != std::string::npos) words.replace(slash, 1, "_per_");
  return fmt::format("{}_{}", name, words);
}

Json or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

NamedCells flat_row(const Record& record) {
  NamedCells row{{"name", record.name},
                 {"label", or_null(record.label)},
                 {"status", std::string(name_of(record.status))},
                 {"created", or_null(record.created)}};
  for (const auto& [key, value] : record.config.json().items()) {
    if (!value.is_structured()) row.emplace_back(key, value);
  }
  for (const Metric& metric : metrics()) {
    const std::optional<double> figure = metric.read(record);
    row.emplace_back(column_of(metric.tag, metric.unit), figure ? Json(*figure) : Json(nullptr));
  }
  for (const PhaseShare& phase : record.phases)
    row.emplace_back(column_of(fmt::format("phase.{}", phase.phase), Unit::kSeconds), phase.seconds);
  for (const ClassShare& work : record.classes)
    row.emplace_back(column_of(fmt::format("class.{}.{}", work.phase, work.work_class), Unit::kSeconds), work.seconds);
  for (const auto& [role, bytes] : record.memory.parts)
    row.emplace_back(column_of(fmt::format("memory.{}", role), Unit::kBytes), bytes);
  row.emplace_back("verdict", or_null(record.verdict.rating));
  row.emplace_back("reason", or_null(record.reason));
  row.emplace_back("math_mode", or_null(record.math_mode));
  row.emplace_back("fingerprint", or_null(record.fingerprint));
  row.emplace_back("commit", or_null(record.binary.commit));
  row.emplace_back("sweep", or_null(record.sweep));
  row.emplace_back("run", or_null(record.run));
  return row;
}

}  // namespace

std::string flat_csv(std::span<const TracedRecord> records, const ExportOptions& /*options*/) {
  const RecordsBy all(
      [&](Extent, const Records::Visit& visit) { (void)std::ranges::all_of(records, visit, &TracedRecord::record); });
  std::string text;
  csv_of_cells(all, flat_row, [&](std::string_view line) { text += line; });
  return text;
}

std::string json_lines(std::span<const TracedRecord> records, const ExportOptions& /*options*/) {
  std::string text;
  for (const TracedRecord& traced : records) {
    Json json = to_json(traced.record);
    if (traced.trace) json["trace"] = to_json(*traced.trace);
    text += json.dump() + "\n";
  }
  return text;
}

}  // namespace laptime
