// Passes over the records of a store.
#include "report/filter.h"

#include <gtest/gtest.h>

#include <array>

#include "record/sample_record.h"
#include "record/store_fixture.h"

namespace laptime {
namespace {

constexpr std::array kExtents{Extent::kNames, Extent::kListed, Extent::kWithConfig, Extent::kWhole};

class StoredRecordsTest : public StoreTest {
 protected:
  StoredRecordsTest() {
    for (const char* const name : {"b", "c", "a"}) {
      Record record = sample_record(name);
      record.config.json()["seed"] = name[0] - 'a';
      store_.append(record);
    }
  }

  StoredRecords records(const char* filter = "") const {
    return {store_, Filter(filter), [](const std::string& problem) { throw Error(problem); }};
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

TEST_F(StoredRecordsTest, ReadsTheRecordsThatWereThereFirst) {
  const StoredRecords stored = records();
  for (const Extent extent : kExtents) EXPECT_EQ(names(stored, extent), "bca");
  remove();
  add();
  for (const Extent extent : kExtents) EXPECT_EQ(names(stored, extent), "ca");
}

TEST_F(StoredRecordsTest, FiltersAndSorts) {
  for (const char* const order : {"name", "seed", "name:asc,seed"}) {
    StoredRecords all = records();
    all.sort(order);
    StoredRecords some = records("name != b");
    some.sort(order);
    for (const Extent extent : kExtents) {
      EXPECT_EQ(names(all, extent), "abc") << order;
      EXPECT_EQ(names(some, extent), "ac") << order;
    }
    some.sort("name:desc");
    EXPECT_EQ(names(some, Extent::kListed), "ca");
  }
}

TEST_F(StoredRecordsTest, SortLeavesOutARecordThatBecameUnreadable) {
  StoredRecords stored{store_, Filter(""), [](const std::string&) {}};
  EXPECT_EQ(names(stored, Extent::kNames), "bca");
  execute("UPDATE records SET json = '{}' WHERE id = 1");
  stored.sort("seed");
  for (const Extent extent : kExtents) EXPECT_EQ(names(stored, extent), "ac");
}

}  // namespace
}  // namespace laptime
