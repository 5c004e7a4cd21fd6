// The stored records that reports are tested with.
#pragma once

#include <fstream>
#include <string>
#include <vector>

#include "record/record.h"

namespace laptime {

inline const std::string kReportGolden = LAPTIME_SOURCE_DIR "/tests/report/golden/";

inline std::vector<Record> stored_records() {
  std::vector<Record> records;
  std::ifstream file(kReportGolden + "records.jsonl");
  for (std::string line; std::getline(file, line);) records.push_back(parse_record(line));
  return records;
}

}  // namespace laptime
