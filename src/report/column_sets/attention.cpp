// Attention alone, for people.
#include "report/column_sets/column_sets.h"
#include "report/column_sets/readers.h"

namespace laptime {

using namespace cells;

namespace {

std::optional<double> median(const TimeStats& time) { return time.median; }

// "compile", and what of it was lowered: "compile -scaled_dot_product_attention".
Json mode_and_lowered(const Row& row, std::string_view) {
  const std::string lowered = row.record().config.text("lower");
  const bool none = lowered.empty() || lowered == "none";
  return row.record().config.text("mode") + (none ? "" : " -" + lowered);
}

}  // namespace

std::vector<Column> columns_attention() {
  const auto median_of = [](std::string title, std::string_view phase) {
    return Column{.title = std::move(title), .unit = Unit::kSeconds, .width = 9, .read = from_phase(phase, median)};
  };
  const auto bytes_of = [](std::string title, std::string_view column, int drop) {
    return Column{.title = std::move(title), .unit = Unit::kBytes, .drop = drop, .width = 10, .read = named(column)};
  };
  std::vector<Column> columns{
      {.title = "context", .width = 7, .read = named("context")},
      {.title = "d_model", .width = 7, .read = named("config.d_model")},
      {.title = "dtype", .text = true, .drop = 2, .width = 8, .read = named("dtype")},
      {.title = "mode", .text = true, .width = 7, .read = mode_and_lowered},
      {.title = "status", .text = true, .then_reason = true, .width = 6, .read = named("status")},
      median_of("forward", "forward"),
      median_of("backward", "backward"),
      bytes_of("model", "resident_memory", 4),
      bytes_of("+ forward", "forward_memory", 3),
      bytes_of("+ backward", "backward_memory", 5),
      {.title = "peak",
       .unit = Unit::kBytes,
       .drop = 1,
       .width = 9,
       .read = first_known("peak_memory", "predicted_peak_memory")},
      {.title = "verdict", .text = true, .drop = 6, .width = 8, .read = named("verdict")}};
  for (Column& column : columns) column.extent = Extent::kWithConfig;
  return columns;
}

}  // namespace laptime
