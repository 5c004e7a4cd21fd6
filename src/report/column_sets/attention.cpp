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
  const auto of_table = [&](std::string_view title, int drop) {
    Column column = *table_column(title);
    column.drop = drop;
    return column;
  };
  // The interval is the first thing to go where a terminal is narrow.
  const auto median_of = [&](std::string title, std::string_view phase) {
    Column column = of_table("median", 0);
    column.title = std::move(title);
    column.remark.clear();
    column.of_phase = false;
    column.bracket_may_go = true;
    column.read = from_phase(phase, median);
    column.text_of = [text = column.text_of, phase](const Row& row, std::string_view, const CellContext& context) {
      return text(row, phase, context);
    };
    return column;
  };
  const auto bytes_of = [](const std::string& title, int drop) {
    return Column{.title = title, .unit = Unit::kBytes, .drop = drop, .width = 10, .read = named(title)};
  };
  std::vector<Column> columns{
      {.title = "context", .setting = true, .width = 7, .read = named("context")},
      {.title = "d_model", .setting = true, .width = 7, .read = named("d_model")},
      {.title = "dtype", .text = true, .setting = true, .drop = 2, .width = 8, .read = named("dtype")},
      {.title = "mode", .text = true, .then_reason = true, .setting = true, .width = 7, .read = mode_and_lowered},
      median_of("forward", "forward"),
      median_of("backward", "backward"),
      bytes_of("resident", 4),
      bytes_of("+forward", 3),
      {.title = "before_backward", .unit = Unit::kBytes, .drop = 1, .width = 15, .read = named("before_backward")},
      bytes_of("+backward", 5),
      of_table("peak", 1),
      of_table("verdict", 6)};
  for (Column& column : columns) column.extent = Extent::kWithConfig;
  columns.front().then_notes = true;  // the column that no terminal is too narrow for
  return columns;
}

}  // namespace laptime
