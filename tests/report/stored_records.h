// The stored records that tests of reports use, and helpers that select records and render them as text.
#pragma once

#include <fstream>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "record/record.h"
#include "report/filter.h"
#include "report/record_files.h"
#include "report/record_table.h"

namespace laptime {

inline const std::string kReportGolden = LAPTIME_SOURCE_DIR "/tests/report/golden/";

inline std::vector<Record> stored_records() {
  std::vector<Record> records;
  std::ifstream file(kReportGolden + "records.jsonl");
  for (std::string line; std::getline(file, line);) records.push_back(parse_record(line));
  return records;
}

// Collects the pieces that a function passes to a sink.
template <class Produce>
std::string text_from(const Produce& produce) {
  std::string text;
  produce([&](std::string_view more) { text += more; });
  return text;
}
inline std::string table(std::span<const Record> records, const TableStyle& style,
                         std::string_view columns = "default") {
  return text_from([&](const TextSink& sink) { table(RecordList(records), style, columns, sink); });
}
inline std::string markdown(std::span<const Record> records, std::string_view columns = "default") {
  return text_from([&](const TextSink& sink) { markdown(RecordList(records), {}, columns, sink); });
}
inline std::string csv(std::span<const Record> records, std::string_view columns = "default") {
  return text_from([&](const TextSink& sink) { csv(RecordList(records), columns, sink); });
}
inline std::string json(std::span<const Record> records) {
  return text_from([&](const TextSink& sink) { json(RecordList(records), sink); });
}

// Records with only the name, label and configuration of the given records, as before their points run.
inline std::vector<Record> planned(const std::vector<Record>& records) {
  std::vector<Record> planned(records.size());
  for (size_t i = 0; i < records.size(); ++i) {
    planned[i].name = records[i].name;
    planned[i].label = records[i].label;
    planned[i].config = records[i].config;
  }
  return planned;
}

// The table as a sweep prints it, row by row while the points run.
inline std::string streamed(const std::vector<Record>& records, const TableStyle& style,
                            const char* columns = "default") {
  TableStream stream(style, columns, RecordList(planned(records)));
  std::string text;
  for (const Record& record : records) text += stream.add(record);
  return text + stream.end();
}

inline std::vector<std::string> lines_in(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// The matching records in their original order.
inline std::vector<Record> records_matching(const Filter& filter, std::span<const Record> records) {
  filter.check(RecordList(records), RecordList(records));
  std::vector<Record> kept;
  for (const Record& record : records) {
    if (filter.matches(record)) kept.push_back(record);
  }
  return kept;
}

}  // namespace laptime
