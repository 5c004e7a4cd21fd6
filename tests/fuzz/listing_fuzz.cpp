// Rows of the listing. What is read into a record does not depend on what it held before, and outlives packing.
#include "record/listing.h"

#include <limits>
#include <nlohmann/json.hpp>

#include "fuzz/fuzz_target.h"
#include "record/listed_rows.h"
#include "record/sample_record.h"
#include "record/sqlite.h"

namespace laptime::fuzz {
namespace {

constexpr size_t kCounts = 2;  // bytes before the fields: how many losses and times the record has

std::string row_of(const Record& record) {
  sqlite::Database database(":memory:", /*create=*/true);
  sqlite::Statement row(database, ("SELECT " + listing_values("?1")).c_str());
  LAPTIME_CHECK(row.bind(1, to_text(record)).step(), "no row");
  return std::string{static_cast<char>(row.integer(0)), static_cast<char>(row.integer(1))} + std::string(row.text(2));
}

ListedRow row_in(std::string_view input) {
  if (input.size() < kCounts) return {0, 0, input};
  return {input[0], input[1], input.substr(kCounts)};
}

// Reads `before` and then `row` into one record; empty if the row is refused.
std::string text_of_row(const ListedRow& before, const ListedRow& row, Extent extent) {
  Record record;
  read_listed(before, extent, record);
  return read_listed(row, extent, record) ? to_text(record) : "";
}

std::string packed_and_unpacked(const ListedRow& row) {
  Record record;
  if (!read_listed(row, Extent::kRow, record)) return "";
  ListedRows rows;
  rows.add(1, sample_record());
  rows.add(2, record);
  std::string text;
  rows.each([&](int64_t, const Record& unpacked) {
    text = to_text(unpacked);
    return true;
  });
  return text;
}

}  // namespace

std::vector<std::string> seeds() {
  Record nothing;
  nothing.name = "nothing";
  Record predicted = sample_record("predicted");
  predicted.config.json()["device"] = "roofline:h100";
  predicted.label.clear();
  predicted.time.erase("step");
  return {row_of(sample_record()), row_of(nothing), row_of(predicted)};
}

std::vector<std::string> words() {
  return {"[", "]", "{", "}", ",", ":", "\"", "\\", "\"\"", "null", "true", "\"ok\"", "\"device\":", "1e400", "-1"};
}

}  // namespace laptime::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace laptime;
  static const std::string kBefore = fuzz::row_of(sample_record());
  const ListedRow before = fuzz::row_in(kBefore);
  const ListedRow row = fuzz::row_in(fuzz::text_of(data, size));
  for (const Extent extent : {Extent::kNames, Extent::kRow, Extent::kListed, Extent::kWithConfig}) {
    const std::string fresh = fuzz::text_of_row({}, row, extent);
    const std::string used = fuzz::text_of_row(before, row, extent);
    LAPTIME_CHECK(fresh == used, "{} became {}", fresh, used);
    const std::string twice = fuzz::text_of_row(row, row, extent);
    LAPTIME_CHECK(fresh == twice, "{} became {}", fresh, twice);
    const std::string next = fuzz::text_of_row(row, before, extent);
    const std::string as_ever = fuzz::text_of_row({}, before, extent);
    LAPTIME_CHECK(next == as_ever, "{} became {}", as_ever, next);
    if (extent != Extent::kRow) continue;
    const std::string unpacked = fuzz::packed_and_unpacked(row);
    LAPTIME_CHECK(fresh == unpacked, "{} became {}", fresh, unpacked);
  }
  return 0;
}
