// Writes records as data: CSV, JSON and samples.
#include "report/record_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "table/table.h"

namespace laptime {
namespace {

// Removes default columns that are empty in every record; keeps columns that were requested by name.
void leave_out_empty(std::vector<Column>& columns, const Records& records) {
  const auto can_go = [](const Column& column) { return column.drop > 0; };
  std::vector<bool> is_empty;
  Extent extent = Extent::kNames;
  for (const Column& column : columns) {
    is_empty.push_back(can_go(column));
    if (can_go(column)) extent = std::max(extent, column.extent);
  }
  bool has_records = false;
  records.each(extent, [&](const Record& record) {
    has_records = true;
    for (size_t i = 0; i < columns.size(); ++i) is_empty[i] = is_empty[i] && columns[i].read(record, "").is_null();
    return is_among(true, is_empty);
  });
  size_t next = 0;
  std::erase_if(columns, [&](const Column&) { return is_empty[next++] && has_records; });
}

}  // namespace

void csv(const Records& records, std::string_view column_list, const TextSink& sink, std::string_view mfu) {
  if (column_list == "all") {
    csv_of_cells(records, leaves_of, sink);
    return;
  }
  std::vector<Column> columns = data_columns(column_list, records, mfu);
  leave_out_empty(columns, records);
  sink(csv_line(mapped<Json>(columns, &Column::title)));
  records.all(extent_of_columns(columns, Extent::kNames), [&](const Record& record) {
    sink(csv_line(mapped(columns, [&](const Column& column) { return column.read(record, ""); })));
  });
}

void csv_of_cells(const Records& records, const std::function<NamedCells(const Record&)>& cells_of,
                  const TextSink& sink) {
  std::vector<std::string> names;
  std::set<std::string> known;
  records.all(Extent::kWhole, [&](const Record& record) {
    auto after = names.begin();
    for (const auto& [name, value] : cells_of(record)) {
      const bool is_in_place = after != names.end() && *after == name;
      after = known.insert(name).second ? names.insert(after, name)
              : is_in_place             ? after
                                        : std::ranges::find(names, name);
      ++after;
    }
  });
  if (names.empty()) return;
  sink(csv_line(std::vector<Json>(names.begin(), names.end())));
  records.all(Extent::kWhole, [&](const Record& record) {
    std::map<std::string, Json> values;
    for (auto& [name, value] : cells_of(record)) values[name] = std::move(value);
    sink(csv_line(mapped(names, [&](const std::string& name) { return values[name]; })));
  });
}

void json(const Records& records, const TextSink& sink) {
  sink("[");
  bool is_empty = true;
  records.all(Extent::kWhole, [&](const Record& record) {
    sink(is_empty ? "\n" : ",\n");
    sink(to_text(record));
    is_empty = false;
  });
  sink(is_empty ? "]\n" : "\n]\n");
}

JsonLines::JsonLines(std::string_view columns, const Records& expected, std::string_view mfu)
    : is_whole_(columns == "all") {
  if (!is_whole_) columns_ = data_columns(columns, expected, mfu);
}

Extent JsonLines::extent() const { return is_whole_ ? Extent::kWhole : extent_of_columns(columns_); }

std::string JsonLines::line(const Record& record) {
  if (is_whole_) return to_text(record) + "\n";
  add_baseline(columns_, record);
  Json row = Json::object();
  for (const Column& column : columns_) row[column.title] = column.read(record, "");
  return row.dump() + "\n";
}

void samples_csv(const Records& records, const TextSink& sink) {
  std::vector<Json> line;
  std::vector<ColumnValue> values;
  std::vector<std::string_view> names = configuration_columns();
  names.insert(names.end(), {"created", "run"});
  for (const std::string_view name : names) {
    line.emplace_back(name);
    values.emplace_back(name);
  }
  for (const char* const header : {"phase", "sample", "seconds"}) line.emplace_back(header);
  sink(csv_line(line));
  records.all(Extent::kWhole, [&](const Record& record) {
    if (is_predicted(record)) return;
    line.clear();
    for (const ColumnValue& value : values) line.push_back(value.of(record));
    const size_t shared = line.size();
    for (const auto& [phase, time] : record.time) {
      for (size_t i = 0; i < time.samples.size(); ++i) {
        line.resize(shared);
        line.insert(line.end(), {Json(phase), Json(i), Json(time.samples[i])});
        sink(csv_line(line));
      }
    }
  });
}

}  // namespace laptime
