// Whole records as JSON lines.
#include <nlohmann/json.hpp>

#include "export/writers.h"
#include "record/fields_json.h"

namespace laptime {

std::string json_lines(std::span<const TracedRecord> records, const ExportOptions& /*options*/) {
  std::string text;
  for (const TracedRecord& traced : records) {
    Json json = to_json(traced.record);
    if (traced.trace) json["trace"] = to_json(*traced.trace);
    text += ascii_text(json) + "\n";
  }
  return text;
}

}  // namespace laptime
