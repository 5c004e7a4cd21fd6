// The listing: what is read from it equals what the whole record has.
#include "record/listing.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "record/metrics.h"
#include "record/sample_record.h"
#include "record/store.h"

namespace laptime {
namespace {

namespace fs = std::filesystem;

class ListingTest : public testing::Test {
 protected:
  ListingTest() {
    std::string pattern = (fs::temp_directory_path() / "laptime_listing_XXXXXX").string();
    directory_ = mkdtemp(pattern.data());
  }
  ~ListingTest() override { fs::remove_all(directory_); }

  // The records as they are read from a store in this extent.
  std::vector<Record> read(const std::vector<Record>& records, Extent extent) const {
    const fs::path path = directory_ / "store.sqlite";
    fs::remove(path);
    Store store = Store::open(path);
    for (const Record& record : records) store.append(record);
    std::vector<Record> found;
    store.each(
        extent,
        [&](int64_t, const Record& listed) {
          found.push_back(listed);
          return true;
        },
        [](const std::string& problem) { throw Error(problem); });
    return found;
  }
  Record read(const Record& record, Extent extent) const { return read(std::vector{record}, extent).at(0); }

  fs::path directory_;
};

Record with_every_phase() {
  Record record = sample_record();
  for (const char* const phase : {"backward", "optimizer", "forward_backward", "inference"}) {
    record.time[phase] = make_time_stats(std::vector{0.1, 0.30000000000000004, 1.0 / 3});
  }
  return record;
}

TEST_F(ListingTest, TheWholeRecordIsExact) { EXPECT_EQ(read(with_every_phase(), Extent::kWhole), with_every_phase()); }

TEST_F(ListingTest, MetricsOfTheListingAreExact) {
  for (const char* const pass : {"step", "forward", "backward", "forward_backward", "inference"}) {
    Record whole = with_every_phase();
    whole.config.json()["pass"] = pass;
    for (const Extent extent : {Extent::kNames, Extent::kRow, Extent::kListed, Extent::kWithConfig}) {
      const Record listed = read(whole, extent);
      EXPECT_TRUE(listed.kernels.empty()) << "the record was read whole";
      for (const Metric& metric : metrics()) {
        if (extent_of(metric.tag) > extent) continue;
        EXPECT_EQ(metric.read(listed), metric.read(whole)) << metric.tag;
      }
    }
  }
}

TEST_F(ListingTest, TextsOfTheListingAreExact) {
  Record whole = with_every_phase();
  whole.label = "quotes \" and \\ back, \n line, \x01, \u00e9, \u4e2d, {[,:]}";
  whole.reason = "";
  whole.verdict.reasons = {"a, b", "\"c\"", "[d]", ""};
  whole.status = Status::kOutOfMemory;
  const Record listed = read(whole, Extent::kListed);
  EXPECT_TRUE(listed.kernels.empty()) << "the record was read whole";
  EXPECT_EQ(listed.name, whole.name);
  EXPECT_EQ(listed.label, whole.label);
  EXPECT_EQ(listed.status, whole.status);
  EXPECT_EQ(listed.reason, whole.reason);
  EXPECT_EQ(listed.bytes_requested, whole.bytes_requested);
  EXPECT_EQ(listed.op, whole.op);
  EXPECT_EQ(listed.scope, whole.scope);
  EXPECT_EQ(listed.phases, whole.phases);
  EXPECT_EQ(listed.setup, whole.setup);
  EXPECT_EQ(listed.verdict, whole.verdict);
  EXPECT_EQ(listed.transient.excess, whole.transient.excess);
  EXPECT_EQ(listed.stopping.steps_per_sample, whole.stopping.steps_per_sample);
  EXPECT_EQ(listed.config.text("model"), "small");
  EXPECT_EQ(listed.config.text("pass"), "step");
  EXPECT_EQ(read(whole, Extent::kWithConfig).config, whole.config);
}

TEST_F(ListingTest, LossesKeepTheFirstAndTheLast) {
  Record record = sample_record();
  EXPECT_EQ(read(record, Extent::kListed).loss.values, (std::vector<double>{9.21, 9.15}));
  record.loss.values = {0.1};
  EXPECT_EQ(read(record, Extent::kListed).loss.values, (std::vector<double>{0.1}));
  record.loss.values = {};
  EXPECT_TRUE(read(record, Extent::kListed).loss.values.empty());
  record.loss.values = {1, std::nan("")};
  const Record listed = read(record, Extent::kListed);
  ASSERT_EQ(listed.loss.values.size(), 2U);
  EXPECT_TRUE(std::isnan(listed.loss.values[1]));
}

TEST_F(ListingTest, ARowHasNoMoreThanItShows) {
  const Record whole = with_every_phase();
  const Record row = read(whole, Extent::kRow);
  EXPECT_EQ(row.time.size(), 1U);
  EXPECT_EQ(row.main_time()->median, whole.main_time()->median);
  EXPECT_EQ(row.math_mode, whole.math_mode);
  EXPECT_EQ(row.loss.values.size(), 2U);
  EXPECT_TRUE(row.phases.empty());
  EXPECT_TRUE(row.verdict.reasons.empty());
  EXPECT_FALSE(row.setup.total);
  const Record names = read(whole, Extent::kNames);
  EXPECT_EQ(names.math_mode, whole.math_mode);
  EXPECT_EQ(names.config.text("model"), whole.config.text("model"));
  EXPECT_TRUE(names.time.empty());
}

// Such a time is shown for the pass (Record::main_time).
TEST_F(ListingTest, ARowHasTheOnlyTimeWhateverItsName) {
  Record whole = sample_record();
  whole.time = {{"forward", make_time_stats(std::vector{0.25})}};
  ASSERT_EQ(whole.config.text("pass"), "step");
  EXPECT_EQ(read(whole, Extent::kRow).main_time()->median, 0.25);
}

// A record that has more than is listed of every record is read whole.
TEST_F(ListingTest, ATimeOfAnotherNameIsNotLost) {
  Record record = sample_record();
  record.time["evaluation"] = make_time_stats(std::vector{0.5});
  EXPECT_EQ(read(record, Extent::kListed), record);
}

// A pass reads one row after the other into the same record.
TEST_F(ListingTest, NothingOfARowIsLeftInTheNext) {
  Record nothing;
  nothing.name = "nothing";
  Record other = with_every_phase();
  other.config.json() = {{"model", "medium"}, {"pass", "forward"}, {"device", "cpu"}, {"d_model", "many"}};
  other.time.erase("step");
  other.phases.resize(1);
  other.prediction.time = {{"backward", 0.5}, {"step", 0.75}};
  other.verdict.reasons.clear();
  Record longer = sample_record();
  longer.config.json()["zeta"] = true;
  const std::vector<Record> records{with_every_phase(), nothing, other, longer, sample_record(), nothing, longer};
  for (const Extent extent : {Extent::kNames, Extent::kRow, Extent::kListed, Extent::kWithConfig, Extent::kWhole}) {
    const std::vector<Record> found = read(records, extent);
    ASSERT_EQ(found.size(), records.size());
    for (size_t i = 0; i < records.size(); ++i) {
      EXPECT_EQ(found[i], read(records[i], extent)) << "record " << i << " in extent " << static_cast<int>(extent);
      EXPECT_EQ(found[i].kernels.empty(), extent < Extent::kWhole || records[i].kernels.empty());
    }
  }
}

TEST_F(ListingTest, ARowHasItsDevice) {
  Record record = sample_record();
  EXPECT_EQ(read(record, Extent::kRow).config.text("device"), "");
  record.config.json()["device"] = "roofline:h100";
  for (const Extent extent : {Extent::kRow, Extent::kListed, Extent::kWithConfig}) {
    EXPECT_EQ(read(record, extent).config.text("device"), "roofline:h100");
  }
}

TEST_F(ListingTest, AnEmptyRecordIsListed) {
  Record record;
  record.name = "nothing";
  const Record listed = read(record, Extent::kListed);
  EXPECT_EQ(listed.name, "nothing");
  EXPECT_TRUE(listed.time.empty());
  EXPECT_FALSE(listed.tokens_per_second);
}

TEST(Listing, KnowsWhatAColumnNeeds) {
  EXPECT_EQ(extent_of("median"), Extent::kRow);
  EXPECT_EQ(extent_of("forward_time"), Extent::kListed);
  EXPECT_EQ(extent_of("math_mode"), Extent::kNames);
  EXPECT_EQ(extent_of("memory.peak_bytes"), Extent::kRow);
  EXPECT_EQ(extent_of("phases"), Extent::kWhole);
  EXPECT_EQ(extent_of("p90"), Extent::kWhole);
  EXPECT_EQ(extent_of("status"), Extent::kNames);
  EXPECT_EQ(extent_of("sweep"), Extent::kListed);
  EXPECT_EQ(extent_of("time.step.median"), Extent::kListed);
  EXPECT_EQ(extent_of("time.step.p90"), Extent::kWhole);
  EXPECT_EQ(extent_of("time.step.samples"), Extent::kWhole);
  EXPECT_EQ(extent_of("config.pass"), Extent::kNames);
  EXPECT_EQ(extent_of("config.device"), Extent::kRow);
  EXPECT_EQ(extent_of("config.d_ff"), Extent::kWithConfig);
  EXPECT_EQ(extent_of("machine.cpu"), Extent::kWhole);
  EXPECT_EQ(extent_of("nonsense"), Extent::kWhole);
}

TEST(Listing, MalformedRowsAreRefused) {
  Record record;
  for (const char* const fields :
       {"", "[", "]", "[]", "null", "[null]", "[{},\"a\",\"b\"", "{\"a\":1}", "[[[[", "[\"\\"}) {
    EXPECT_FALSE(read_listed({0, 0, fields}, Extent::kNames, record)) << fields;
    EXPECT_FALSE(read_listed({0, 0, fields}, Extent::kRow, record)) << fields;
    EXPECT_FALSE(read_listed({0, 0, fields}, Extent::kListed, record)) << fields;
    EXPECT_FALSE(read_listed({3, 3, fields}, Extent::kWithConfig, record)) << fields;
  }
}

}  // namespace
}  // namespace laptime
