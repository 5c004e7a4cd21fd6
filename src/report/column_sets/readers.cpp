// Cells of the column sets.
#include "report/column_sets/readers.h"

#include <array>
#include <utility>

namespace laptime::cells {

const TimeStats* time_of(const Record& record, std::string_view phase) {
  if (phase.empty()) return record.main_time();
  const auto found = record.time.find(std::string(phase));
  return found == record.time.end() ? nullptr : &found->second;
}

Json json_of(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Read from_time(const std::function<Json(const TimeStats&)>& figure) {
  return [figure](const Row& row, std::string_view phase) -> Json {
    const TimeStats* time = time_of(row.record(), phase);
    return time != nullptr && time->count > 0 ? figure(*time) : Json(nullptr);
  };
}

Read mean_of_time() {
  return from_time([](const TimeStats& time) { return Json(time.mean); });
}
Read std_of_time() {
  return [of_any = from_time([](const TimeStats& time) { return json_of(time.std_population); })](
             const Row& row, std::string_view phase) -> Json {
    return is_predicted(row.record()) ? Json(nullptr) : of_any(row, phase);
  };
}

Read from_phase(std::string_view phase, std::optional<double> (*figure)(const TimeStats&)) {
  return [phase, figure](const Row& row, std::string_view) -> Json {
    const TimeStats* time = time_of(row.record(), phase);
    return time != nullptr && time->count > 0 ? json_of(figure(*time)) : Json(nullptr);
  };
}

Read named(std::string_view column) {
  return [value = ColumnValue(column)](const Row& row, std::string_view) { return value.of(row.record()); };
}

Read first_known(std::string_view column, std::string_view otherwise) {
  return [first = named(column), second = named(otherwise)](const Row& row, std::string_view phase) {
    Json value = first(row, phase);
    return value.is_null() ? second(row, phase) : value;
  };
}

Read whether(bool (*holds)(const Record&)) {
  return [holds](const Row& row, std::string_view) -> Json { return holds(row.record()) ? "True" : "False"; };
}

Json label_or_name(const Row& row, std::string_view) {
  return row.record().label.empty() ? row.record().name : row.record().label;
}

Json arithmetic_of(const Row& row, std::string_view) {
  // Parts of the texts of math_mode (prepare/prepare.h). Records of other programs may have texts of their own.
  constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kShort{
      {{", some products of three bfloat16 terms", " partly split"},
       {", products of three bfloat16 terms", " split"},
       {", some float32 products of three bfloat16 terms", ", float32 partly split"},
       {", float32 products of three bfloat16 terms", ", float32 split"},
       {", factors widened to float32", " widened"},
       {", float32 accumulation", ""},
       {", denormals in products are zero", ""},
       {", predicted", ""}}};
  std::string text = row.record().math_mode;
  if (text.empty()) return nullptr;
  if (text.find(',') == std::string::npos) return text;  // as every part begins
  for (const auto& [part, short_part] : kShort) {
    if (const size_t at = text.find(part); at != std::string::npos) text.replace(at, part.size(), short_part);
  }
  return text;
}

Json warmup_of(const Row& row, std::string_view) {
  const auto& taken = row.record().stopping.warmup;
  return taken ? Json(*taken) : row.value("warmup");
}
Json steps_of(const Row& row, std::string_view) {
  const TimeStats* time = row.record().main_time();
  return time != nullptr ? Json(time->count) : row.value("steps");
}

Column words(std::string title, Read read, size_t width) {
  return {.title = std::move(title), .text = true, .width = width, .read = std::move(read)};
}
Column figure(std::string title, Read read) { return {.title = std::move(title), .read = std::move(read)}; }
Column quantity(std::string title, Unit unit, Read read) {
  return {.title = std::move(title), .unit = unit, .read = std::move(read)};
}
Column of_population(Column column) {
  column.note = "std divides by n (population)";
  return column;
}
Column of_sample(Column column) {
  column.note = "std divides by n - 1 (sample)";
  return column;
}
Column setting(Column column) {
  column.setting = true;
  return column;
}

}  // namespace laptime::cells
