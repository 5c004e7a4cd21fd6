// All formats of one set of stored records, compared with golden files. After an intended change, update them with
// LAPTIME_UPDATE_GOLDEN=1 test_report, and review the difference.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "report/record_files.h"
#include "report/record_table.h"
#include "report/stored_records.h"

namespace laptime {
namespace {

void expect_golden(const std::string& name, const std::string& text) {
  const std::string path = kReportGolden + name;
  if (std::getenv("LAPTIME_UPDATE_GOLDEN") != nullptr) std::ofstream(path, std::ios::binary) << text;
  std::ifstream file(path, std::ios::binary);
  ASSERT_TRUE(file) << path;
  std::stringstream expected;
  expected << file.rdbuf();
  EXPECT_EQ(text, expected.str()) << path;
}

TEST(Golden, TableMatches) { expect_golden("table.txt", table(stored_records(), {})); }

TEST(Golden, VerboseTableMatches) {
  expect_golden("table_verbose.txt", table(stored_records(), {.width = 100, .verbose = true}));
}

TEST(Golden, TableOfOnePointMatches) {
  const std::vector<Record> records = stored_records();
  expect_golden("point.txt", table(std::span(records).first(1), {.width = 80}));
}

TEST(Golden, AsciiTableMatches) { expect_golden("table_ascii.txt", table(stored_records(), {.unicode = false})); }

TEST(Golden, NarrowTablesMatch) {
  for (const size_t width : {80U, 120U}) {
    expect_golden(fmt::format("table_{}.txt", width), table(stored_records(), {.width = width}));
  }
}

TEST(Golden, StreamedTableMatches) {
  expect_golden("table_stream.txt", streamed(stored_records(), {}, "default,speedup"));
}

TEST(Golden, TableWithSpeedupMatches) {
  expect_golden("table_speedup.txt", table(stored_records(), {}, "model,pass,dtype,median,speedup,mfu_measured"));
}

TEST(Golden, TableWithThe2024ColumnsMatches) { expect_golden("table_2024.txt", table(stored_records(), {}, "2024")); }

TEST(Golden, MarkdownMatches) { expect_golden("markdown.md", markdown(stored_records())); }
TEST(Golden, MarkdownWithThe2025dColumnsMatches) {
  expect_golden("markdown_2025d.md", markdown(stored_records(), "2025d"));
}

TEST(Golden, CsvMatches) { expect_golden("narrow.csv", csv(stored_records())); }
TEST(Golden, CsvOfAllColumnsMatches) { expect_golden("all.csv", csv(stored_records(), "all")); }
TEST(Golden, SamplesMatch) {
  const std::vector<Record> records = stored_records();
  expect_golden("samples.csv", text_from([&](const TextSink& sink) { samples_csv(RecordList(records), sink); }));
}
TEST(Golden, CsvWithTheColumnsOfTheSourceDocumentsMatches) {
  for (const std::string columns : {"2024", "2025a", "2025c", "2025d"})
    expect_golden(columns + ".csv", csv(stored_records(), columns));
}

TEST(Golden, JsonMatches) { expect_golden("records.json", json(stored_records())); }

}  // namespace
}  // namespace laptime
