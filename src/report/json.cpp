// JSON arrays and lines.
#include "report/json.h"

namespace laptime {

std::string json(std::span<const Record> records) {
  std::string text = "[";
  for (size_t i = 0; i < records.size(); ++i) text += (i == 0 ? "\n" : ",\n") + to_text(records[i]);
  return text + (records.empty() ? "]\n" : "\n]\n");
}

std::string jsonl(const Record& record) { return to_text(record) + "\n"; }

}  // namespace laptime
