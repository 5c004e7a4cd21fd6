// Repeats the columns of a record in front of each of its samples.
#include "report/samples.h"

#include <nlohmann/json.hpp>
#include <vector>

#include "record/metrics.h"
#include "report/narrow.h"
#include "table/table.h"

namespace laptime {

void samples_csv(const Records& records, const TextSink& sink) {
  std::vector<Json> line;
  std::vector<ColumnValue> values;
  const auto add = [&](std::string_view header, std::string_view column) {
    line.emplace_back(std::string(header));
    values.emplace_back(column);
  };
  for (const NarrowColumn& column : configuration_columns()) add(column.header, column.column);
  add("created", "created");
  add("run", "run");
  for (const char* const header : {"phase", "sample", "seconds"}) line.emplace_back(header);
  sink(csv_line(line));
  records.each(Extent::kWhole, [&](const Record& record) {
    if (is_predicted(record)) return true;
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
    return true;
  });
}

}  // namespace laptime
