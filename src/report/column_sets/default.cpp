// The columns of a table where none are asked for.
#include <fmt/format.h>

#include "base/units.h"
#include "report/column_sets/column_sets.h"
#include "report/column_sets/readers.h"

namespace laptime {

using namespace cells;

std::vector<Column> default_columns() {
  const auto mean_and_std = [](const TimeStats& time) {
    return Json(format_seconds(time.mean) + (time.std ? " ± " + format_seconds(*time.std) : ""));
  };
  const auto min_and_max = [](const TimeStats& time) {
    return Json(format_seconds(time.min) + " .. " + format_seconds(time.max));
  };
  const auto first_and_last_loss = [](const Row& row, std::string_view) -> Json {
    const Json first = row.value("loss_first");
    Json last = row.value("loss_last");
    if (row.record().loss.values.size() < 2 || first == last) return last;
    return format_value(first, Unit::kNats) + " → " + format_value(last, Unit::kNats);
  };
  const auto mfu_and_reason = [](const Row& row, std::string_view phase) {
    const std::string mfu = format_value(first_known("mfu_measured", "mfu_datasheet")(row, phase), Unit::kFraction);
    const std::string& reason = row.record().flops.above_peak;
    return reason.empty() ? mfu : fmt::format("{} ({})", mfu, reason);
  };
  std::vector<Column> columns{
      {.title = "name", .text = true, .width = 24, .read = label_or_name},
      {.title = "status", .text = true, .then_reason = true, .drop = 1, .width = 6, .read = named("status")},
      {.title = "median",
       .unit = Unit::kSeconds,
       .of_phase = true,
       .width = 8,
       .read = from_time([](const TimeStats& time) { return Json(time.median); })},
      {.title = "mean ± std", .of_phase = true, .drop = 2, .width = 19, .read = from_time(mean_and_std)},
      {.title = "min .. max", .of_phase = true, .drop = 6, .width = 20, .read = from_time(min_and_max)},
      {.title = "n", .of_phase = true, .drop = 5, .width = 3, .read = from_time([](const TimeStats& time) {
                                                                return Json(time.count);
                                                              })},
      {.title = "tokens/s", .unit = Unit::kTokensPerSecond, .drop = 3, .width = 8, .read = named("tokens_per_second")},
      {.title = "peak",
       .unit = Unit::kBytes,
       .drop = 3,
       .width = 9,
       .read = first_known("peak_memory", "predicted_peak_memory")},
      {.title = "mfu",
       .unit = Unit::kFraction,
       .drop = 4,
       .width = 6,
       .read = first_known("mfu_measured", "mfu_datasheet"),
       .text_of = mfu_and_reason},
      {.title = "loss", .unit = Unit::kNats, .drop = 7, .width = 15, .read = first_and_last_loss},
      {.title = "verdict", .text = true, .drop = 5, .width = 9, .read = named("verdict")},
      {.title = "arithmetic", .text = true, .drop = 4, .width = 10, .read = arithmetic_of},
  };
  for (Column& column : columns) column.extent = column.text ? Extent::kNames : Extent::kRow;
  return columns;
}

}  // namespace laptime
