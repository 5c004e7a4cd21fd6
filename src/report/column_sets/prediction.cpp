// Predicted beside measured: time and bytes of each row, and how good the predictions of all rows are.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/words.h"
#include "distribution/median.h"
#include "report/column_sets/column_sets.h"
#include "report/column_sets/readers.h"

namespace laptime {

using namespace cells;

std::vector<Column> columns_prediction() {
  const auto of_table = [&](std::string_view title) {
    Column column = *table_column(title);
    column.of_phase = false;
    return column;
  };
  const auto metric = [](const std::string& tag, Unit unit, size_t width) {
    return Column{.title = tag, .unit = unit, .width = width, .read = named(tag)};
  };
  Column predicted = metric("predicted_time", Unit::kSeconds, 14);
  Column peak = of_table("peak");
  peak.drop = 1;
  Column verdict = of_table("verdict");
  verdict.drop = 2;
  Column name = of_table("name");
  return {std::move(name),    std::move(predicted),
          of_table("median"), metric("prediction_error", Unit::kFraction, 16),
          std::move(peak),    metric("peak_error", Unit::kFraction, 10),
          std::move(verdict)};
}

std::string prediction_summary(const Records& records) {
  std::vector<double> times;
  double bytes = 0;
  bool has_bytes = false;
  records.each(Extent::kWhole, [&](const Record& record) {
    const Row row(record);
    if (const Json error = row.value("prediction_error"); error.is_number())
      times.push_back(std::abs(error.get<double>()));
    if (const Json error = row.value("peak_error"); error.is_number()) {
      has_bytes = true;
      bytes = std::max(bytes, std::abs(error.get<double>()));
    }
    return true;
  });
  if (times.empty()) return "";
  constexpr double kPercent = 100;
  std::string text = fmt::format("{}: error {} % in the median, at most {} %", counted(times.size(), "predicted time"),
                                 fixed_text(kPercent * median(times), 1),
                                 fixed_text(kPercent * *std::max_element(times.begin(), times.end()), 1));
  if (has_bytes) text += fmt::format("; bytes at most {} %", fixed_text(kPercent * bytes, 2));
  return text;
}

}  // namespace laptime
