// Passes over a store: rows are read once, what is more of each record whenever it is asked for.
#include "report/stored.h"

#include <gtest/gtest.h>

#include "record/sample_record.h"
#include "record/store_fixture.h"

namespace laptime {
namespace {

class StoredRecordsTest : public StoreTest {
 protected:
  StoredRecordsTest() {
    for (const char* const name : {"b", "c", "a"}) {
      Record record = sample_record(name);
      record.config.json()["seed"] = name[0] - 'a';
      store_.append(record);
    }
  }

  StoredRecords records(const char* filter = "", size_t most_bytes = StoredRecords::kMostBytes) const {
    return {store_, Filter(filter), [](const std::string& problem) { throw Error(problem); }, most_bytes};
  }

  static std::string names(const Records& records, Extent extent) {
    std::string names;
    records.each(extent, [&](const Record& record) {
      names += record.name;
      return true;
    });
    return names;
  }

  // Another program adds a record, or removes the first.
  void add() const { execute("INSERT INTO records (json) SELECT json FROM records LIMIT 1"); }
  void remove() const { execute("DELETE FROM records WHERE id = 1"); }

  Store store_ = Store::open(path_);
};

TEST_F(StoredRecordsTest, RowsAreReadOnce) {
  const StoredRecords stored = records();
  EXPECT_EQ(names(stored, Extent::kNames), "bca");
  remove();
  add();
  for (const Extent extent : {Extent::kNames, Extent::kRow}) EXPECT_EQ(names(stored, extent), "bca");
  for (const Extent extent : {Extent::kListed, Extent::kWithConfig}) EXPECT_EQ(names(stored, extent), "cac");
  EXPECT_EQ(names(stored, Extent::kWhole), "ca");  // of the rows that were read those that are still there
}

TEST_F(StoredRecordsTest, APassThatEndsEarlyReadsAllRowsToo) {
  const StoredRecords stored = records();
  int visits = 0;
  stored.each(Extent::kNames, [&](const Record&) { return ++visits < 2; });
  EXPECT_EQ(visits, 2);
  remove();
  EXPECT_EQ(names(stored, Extent::kRow), "bca");
}

TEST_F(StoredRecordsTest, MoreRowsThanFitAreReadAgain) {
  const StoredRecords stored = records("", /*most_bytes=*/1);
  EXPECT_EQ(names(stored, Extent::kRow), "bca");
  remove();
  EXPECT_EQ(names(stored, Extent::kRow), "ca");
  EXPECT_EQ(names(stored, Extent::kWhole), "ca");
}

TEST_F(StoredRecordsTest, SortedAndFilteredRowsAreHeldInTheirOrder) {
  for (const size_t most_bytes : {StoredRecords::kMostBytes, size_t{1}}) {
    for (const char* const order : {"name", "seed", "name:asc,seed"}) {
      StoredRecords all = records("", most_bytes);
      all.sort(order);
      StoredRecords some = records("name != b", most_bytes);
      some.sort(order);
      for (const Extent extent : {Extent::kNames, Extent::kRow, Extent::kListed, Extent::kWithConfig, Extent::kWhole}) {
        EXPECT_EQ(names(all, extent), "abc") << order;
        EXPECT_EQ(names(some, extent), "ac") << order;
      }
      some.sort("name:desc");
      EXPECT_EQ(names(some, Extent::kRow), "ca");
    }
  }
}

// What is read of a record decides whether it can be read: places are those of the pass that has compared them.
TEST_F(StoredRecordsTest, ARecordThatBecomesUnreadableDisturbsNoOrder) {
  StoredRecords stored{store_, Filter(""), [](const std::string&) {}};
  EXPECT_EQ(names(stored, Extent::kNames), "bca");
  execute("UPDATE records SET json = '{}' WHERE id = 1");
  stored.sort("seed");
  EXPECT_EQ(names(stored, Extent::kWithConfig), "ac");
  EXPECT_EQ(names(stored, Extent::kRow), "ac");
}

}  // namespace
}  // namespace laptime
