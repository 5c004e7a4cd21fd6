// JSON arrays and lines.
#include "report/json.h"

namespace laptime {

std::string json(std::span<const Record> records) {
  std::string text;
  json(RecordList(records), [&](std::string_view more) { text += more; });
  return text;
}

void json(const Records& records, const TextSink& sink) {
  sink("[");
  bool none = true;
  records.each(Extent::kWhole, [&](const Record& record) {
    sink(none ? "\n" : ",\n");
    sink(to_text(record));
    none = false;
    return true;
  });
  sink(none ? "]\n" : "\n]\n");
}

std::string jsonl(const Record& record) { return to_text(record) + "\n"; }

JsonLines::JsonLines(std::string_view columns, const Records& planned)
    : whole_(columns == "all"), baselines_(std::make_unique<Baselines>()) {
  if (whole_) return;
  columns_ = data_columns(columns, *baselines_, planned);
  plan_baselines(columns_, planned, *baselines_);
}

void JsonLines::add_baselines(const Records& records) { laptime::add_baselines(columns_, records, *baselines_); }

Extent JsonLines::extent() const { return whole_ ? Extent::kWhole : extent_of_columns(columns_, /*details=*/false); }

std::string JsonLines::line(const Record& record) {
  if (whole_) return jsonl(record);
  baselines_->add(record);
  return json_row(columns_, record);
}

}  // namespace laptime
