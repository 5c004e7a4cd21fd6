// How stored records are ordered and found, and runs that reused stored records.
#include <gtest/gtest.h>

#include "record/store_fixture.h"

namespace laptime {
namespace {

TEST_F(StoreTest, OrdersRecordsByDateAndThenById) {
  Store store = Store::open(path_);
  Record record = sample_record();
  record.asked_hash = "one";
  for (const char* const name :
       {"2025-11-22", "2025-11-20", "2025-11-22 again", "2025-11-21"}) {  // an import adds records in any order
    record.name = name;
    record.created = std::string(name).substr(0, 10) + "T10:15:00Z";
    store.append(record);
  }
  const std::vector<std::string> expected{"2025-11-20", "2025-11-21", "2025-11-22", "2025-11-22 again"};
  EXPECT_EQ(visited(store, Extent::kNames), expected);
  EXPECT_EQ(visited(store, Extent::kWhole), expected);
  EXPECT_EQ(store.find_finished(record.config_hash, record.binary.id, record.fingerprint)->id, 3);
  EXPECT_EQ(store.finished_by_asked_hash(record.binary.id).at("one"), 3);
}

// A run that takes every point from the store adds no record, and must still be found by its name.
TEST_F(StoreTest, RunsIncludeTheRecordsThatTheyReused) {
  Store store = Store::open(path_);
  EXPECT_FALSE(store.newest_resumed());
  EXPECT_TRUE(store.resumed_by("", false).empty());
  const int64_t first = store.append(sample_record("one"));
  const int64_t second = store.append(sample_record("two"));
  const std::vector<int64_t> both{first, second};
  store.add_resumed("2026-01-02T10:15:00Z-1", both);
  store.add_resumed("2026-01-02T10:16:00Z-2", std::span(both).last(1));
  EXPECT_EQ(store.resumed_by("T10:15:00Z-1", false), both);
  EXPECT_EQ(store.resumed_by("T10:16", false), std::vector<int64_t>{second});
  EXPECT_TRUE(store.resumed_by("T10:16", true).empty());
  EXPECT_EQ(store.resumed_by("2026-01-02T10:16:00Z-2", true), std::vector<int64_t>{second});
  EXPECT_TRUE(store.has_run("2026-01-02T10:16:00Z-2"));
  EXPECT_TRUE(store.has_run(sample_record().run));
  EXPECT_FALSE(store.has_run("T10:16:00Z-2"));
  store.add_resumed("2026-01-01T10:15:00Z-3", both);  // an older run, added by an import
  EXPECT_EQ(store.newest_resumed()->run, "2026-01-02T10:16:00Z-2");
  EXPECT_EQ(store.newest_resumed()->created, "2026-01-02T10:16:00Z");
  EXPECT_EQ(store.newest_resumed()->taken_id, second);
}

TEST_F(StoreTest, FindsTheNewestFinishedRecord) {
  Store store = Store::open(path_);
  Record record = sample_record("older");
  store.append(record);
  record.name = "newer";
  store.append(record);
  record.name = "failed";
  record.status = Status::kFailed;
  store.append(record);
  const auto found = store.find_finished(record.config_hash, record.binary.id, record.fingerprint);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->record.name, "newer");
  EXPECT_FALSE(store.find_finished("other", record.binary.id, record.fingerprint));
  EXPECT_FALSE(store.find_finished(record.config_hash, "other", record.fingerprint));
  EXPECT_FALSE(store.find_finished(record.config_hash, record.binary.id, "other"));
}

TEST_F(StoreTest, FindsARecordByIdRunAndName) {
  Store store = Store::open(path_);
  const Record record = sample_record("one");
  const int64_t id = store.append(record);
  EXPECT_TRUE(store.has(id, record.run, "one"));
  EXPECT_FALSE(store.has(id + 1, record.run, "one"));
  EXPECT_FALSE(store.has(id, "another run", "one"));
  EXPECT_FALSE(store.has(id, record.run, "two"));
}

}  // namespace
}  // namespace laptime
