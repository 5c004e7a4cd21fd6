// Reading the records of a store several times, with filters and sort orders.
#include "report/filter.h"

#include <gtest/gtest.h>

#include <array>

#include "base/error.h"
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

  // add() and remove() act as another program that adds a record or removes the first record.
  void add() const { execute("INSERT INTO records (json) SELECT json FROM records LIMIT 1"); }
  void remove() const { execute("DELETE FROM records WHERE id = 1"); }

  Store store_ = Store::open(path_);
};

TEST_F(StoredRecordsTest, IgnoresRecordsAddedAfterTheFirstPass) {
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

// A filter first excludes records by the columns of the listing, and then reads the remaining records whole. It must
// find the same records as if it read all of them whole.
TEST_F(StoredRecordsTest, FindsTheSameMatchesAsAFullRead) {
  Store store = Store::open(directory_ / "kinds.db");
  std::vector<Record> all;
  for (int i = 0; i < 6; ++i) {
    Record record = sample_record(i % 2 == 0 ? "it's even" : "odd");
    record.config.json()["edition"] = i % 3 == 0 ? Json("2025") : Json(2024);
    record.config.json()["mode"] = i < 4 ? Json("eager") : Json(nullptr);
    record.config.json()["dtype"] = "bfloat16";
    record.config.json()["seed"] = i;
    record.config.json()["causal"] = i % 2 == 0;
    record.config.json()["batches"] = Json::array({"fixed", i});
    record.memory.peak_bytes = i == 5 ? std::nullopt : std::optional<int64_t>(int64_t{1} << (28 + i));
    record.tokens_per_second = 1.0 / 3 * i;
    record.sweep = i == 2 ? "" : "calibration";
    if (i == 4) record.time.clear();
    all.push_back(record);
    store.append(record);
  }
  for (const char* const text : {"name = \"it's even\"",
                                 "name ~ 's e'",
                                 "name != odd",
                                 "edition > 2024",
                                 "edition = 2025",
                                 "edition <= 2024",
                                 "mode = eager",
                                 "mode != eager",
                                 "mode = null",
                                 "mode != null",
                                 "mode ~ age",
                                 "not mode = eager",
                                 "dtype = bf16",
                                 "peak < 2GiB",
                                 "peak_memory >= 512MiB",
                                 "peak = 1GiB",
                                 "median > 0",
                                 "median = 0.51",
                                 "not median > 0",
                                 "sweep != calibration",
                                 "mode in (eager, compile) and peak > 1GiB",
                                 "mode = eager or seed = 7",
                                 "ctx ~ 2 or name = odd",
                                 "tokens/s >= 1",
                                 "tokens_per_second = 0.3333333333333333",
                                 "status = ok and n > 2",
                                 "seed = 3",
                                 "seed >= 4",
                                 "seed != 3",
                                 "not seed = 3",
                                 "causal = true",
                                 "causal != true",
                                 "causal ~ als",
                                 "batches = 2",
                                 "batches != fixed",
                                 "batches = fixed",
                                 "moments = 7",
                                 "seed = 2 or name = odd"}) {
    const Filter filter(text);
    std::string found;
    StoredRecords(store, filter, [](const std::string& problem) {
      throw Error(problem);
    }).each_id(Extent::kNames, [&](int64_t id, const Record&) {
      found += std::to_string(id - 1);
      return true;
    });
    std::string expected;
    filter.check(RecordList(all), RecordList(all));
    for (size_t i = 0; i < all.size(); ++i) {
      if (filter.matches(all[i], static_cast<int64_t>(i) + 1)) expected += std::to_string(i);
    }
    EXPECT_EQ(found, expected) << text;
  }
}

TEST_F(StoredRecordsTest, ExplainsWhyNoRecordMatches) {
  StoredRecords stored = records("name = none");
  EXPECT_EQ(names(stored, Extent::kNames), "");
  EXPECT_EQ(stored.why_none(Filter("name = none")), "0 of 3 records match; they have name a, b, c");
}

TEST_F(StoredRecordsTest, EmptyStoreHasTheSameReasonWithAnyFilter) {
  execute("DELETE FROM records");
  const std::string without_filter = records().why_none(Filter(""));
  EXPECT_NE(without_filter, "");
  EXPECT_EQ(records("name = none").why_none(Filter("name = none")), without_filter);
}

TEST_F(StoredRecordsTest, SortOmitsARecordThatBecameUnreadable) {
  StoredRecords stored{store_, Filter(""), [](const std::string&) {}};
  EXPECT_EQ(names(stored, Extent::kNames), "bca");
  execute("UPDATE records SET json = '{}' WHERE id = 1");
  stored.sort("seed");
  for (const Extent extent : kExtents) EXPECT_EQ(names(stored, extent), "ac");
}

}  // namespace
}  // namespace laptime
