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
  const auto bytes_of = [](const std::string& title, int drop) {
    return Column{.title = title, .unit = Unit::kBytes, .drop = drop, .read = named(title)};
  };
  const auto median_of = [](const std::string& phase) {
    return quantity(phase, Unit::kSeconds, from_phase(phase == "forward" ? "forward" : "backward", median));
  };
  Column peak = *table_column("peak");
  peak.drop = 1;
  Column verdict = *table_column("verdict");
  verdict.drop = 6;
  std::vector<Column> columns{
      {.title = "context", .setting = true, .width = 7, .read = named("context")},
      {.title = "d_model", .setting = true, .width = 7, .read = named("d_model")},
      {.title = "dtype", .text = true, .setting = true, .drop = 2, .read = named("dtype")},
      {.title = "mode", .text = true, .setting = true, .width = 7, .read = mode_and_lowered},
      median_of("forward"),
      median_of("backward"),
      bytes_of("resident", 4),
      bytes_of("+forward", 3),
      {.title = "before_backward", .unit = Unit::kBytes, .drop = 1, .read = named("before_backward")},
      bytes_of("+backward", 5),
      std::move(peak),
      std::move(verdict)};
  for (Column& column : columns) column.extent = Extent::kWithConfig;
  return columns;
}

}  // namespace laptime
