// Rows in memory: what is unpacked equals what was read from the listing.
#include "record/listed_rows.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "record/sample_record.h"
#include "record/store_fixture.h"

namespace laptime {
namespace {

// Records that have each field and that have none, short and long texts, numbers at their ends.
std::vector<Record> varied_records() {
  std::vector<Record> records{sample_record()};
  Record& nothing = records.emplace_back();
  nothing.name = "nothing";
  Record& failed = records.emplace_back(sample_record("failed"));
  failed.status = Status::kOutOfMemory;
  failed.reason = std::string(24, 'a');
  failed.op = std::string(25, 'b');
  failed.scope = std::string(100'000, 'c');
  failed.label = "\n\x01 \u00e9 \u4e2d \" \\";
  failed.bytes_requested = std::numeric_limits<int64_t>::max();
  failed.bytes_available = std::numeric_limits<int64_t>::min();
  failed.memory.after_backward_bytes = -1;
  failed.memory.after_forward_bytes = 127;
  failed.memory.resident_bytes = 128;
  failed.time.clear();
  failed.loss.values.clear();
  Record& other = records.emplace_back(sample_record("other"));
  other.config.json()["device"] = "cpu";
  other.config.json()["pass"] = "inference";
  other.time = {{"forward", make_time_stats(std::vector{0.1, 0.30000000000000004, 1.0 / 3})}};
  other.loss.values = {0.1};
  other.prediction.time = {{"inference", 0.25}};
  Record& without_main = records.emplace_back(other);
  without_main.time["backward"] = make_time_stats(std::vector{5e-324, 1e99});
  without_main.flops = {};
  records.push_back(sample_record());
  return records;
}

class ListedRowsTest : public StoreTest {
 protected:
  std::vector<Record> rows_of_store(const std::vector<Record>& records) const {
    Store store = Store::open(path_);
    for (const Record& record : records) store.append(record);
    std::vector<Record> rows;
    store.each(
        Extent::kRow,
        [&](int64_t, const Record& row) {
          rows.push_back(row);
          return true;
        },
        [](const std::string& problem) { throw Error(problem); });
    return rows;
  }
};

std::vector<std::pair<int64_t, Record>> unpacked(const ListedRows& rows) {
  std::vector<std::pair<int64_t, Record>> all;
  rows.each([&](int64_t id, const Record& record) {
    all.emplace_back(id, record);
    return true;
  });
  return all;
}

TEST_F(ListedRowsTest, HaveWhatTheListingHas) {
  const std::vector<Record> records = varied_records();
  const std::vector<Record> of_store = rows_of_store(records);
  ASSERT_EQ(of_store.size(), records.size());
  ListedRows of_rows;
  ListedRows of_whole_records;
  for (size_t i = 0; i < records.size(); ++i) {
    of_rows.add(static_cast<int64_t>(i), of_store[i]);
    of_whole_records.add(static_cast<int64_t>(i), records[i]);
  }
  for (const ListedRows* const rows : {&of_rows, &of_whole_records}) {
    const auto found = unpacked(*rows);
    ASSERT_EQ(found.size(), records.size());
    for (size_t i = 0; i < records.size(); ++i) {
      EXPECT_EQ(found[i].first, static_cast<int64_t>(i));
      EXPECT_EQ(found[i].second, of_store[i]) << to_text(found[i].second) << "\n" << to_text(of_store[i]);
    }
  }
}

TEST_F(ListedRowsTest, AnUnknownLossStaysUnknown) {
  Record record = sample_record();
  record.loss.values = {1, std::nan("")};
  ListedRows rows;
  rows.add(1, record);
  const Record row = unpacked(rows).at(0).second;
  ASSERT_EQ(row.loss.values.size(), 2U);
  EXPECT_EQ(row.loss.values[0], 1);
  EXPECT_TRUE(std::isnan(row.loss.values[1]));
}

TEST_F(ListedRowsTest, AreOrderedByIds) {
  ListedRows rows;
  for (const int64_t id : {3, 5, 9}) rows.add(id, sample_record("record " + std::to_string(id)));
  const std::vector<int64_t> order{9, 4, 3};  // without the known id 5, and with an id that no row has, 4
  rows.reorder(order);
  const auto found = unpacked(rows);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].first, 9);
  EXPECT_EQ(found[0].second.name, "record 9");
  EXPECT_EQ(found[1].first, 3);
  EXPECT_EQ(found[1].second.name, "record 3");
}

TEST_F(ListedRowsTest, EndWhereTheVisitorDoes) {
  ListedRows rows;
  for (const int64_t id : {1, 2, 3}) rows.add(id, sample_record());
  int visits = 0;
  rows.each([&](int64_t, const Record&) { return ++visits < 2; });
  EXPECT_EQ(visits, 2);
}

// A record as the program writes it, of which no two have the same name, date or figures.
TEST_F(ListedRowsTest, TakeLittleMemory) {
  constexpr size_t kRows = 10'000;
  ListedRows rows;
  Record record = sample_record();
  for (size_t i = 0; i < kRows; ++i) {
    record.name = "step/model:custom/ctx:256/batch:4/dtype:float32/mode:eager/layers:2/seed:" + std::to_string(i);
    record.created = format_utc(1'700'000'000 + static_cast<int64_t>(i));
    record.time["step"].median = 0.5 + static_cast<double>(i);
    rows.add(static_cast<int64_t>(i), record);
  }
  EXPECT_LT(rows.bytes(), 600 * kRows);
  ListedRows alike;
  for (size_t i = 0; i < kRows; ++i) alike.add(static_cast<int64_t>(i), record);
  EXPECT_LT(alike.bytes(), 400 * kRows);
}

}  // namespace
}  // namespace laptime
