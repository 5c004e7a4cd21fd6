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

}  // namespace laptime
