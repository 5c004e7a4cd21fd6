// Fields read from the listing equal those of the whole record.
#include "record/listing.h"

#include <fmt/format.h>

#include <cmath>

#include "base/json.h"
#include "record/metrics.h"
#include "record/store_fixture.h"

namespace laptime {
namespace {

class ListingTest : public StoreTest {
 protected:
  // Writes the record to a new store and reads it back in the given extent.
  Record read(const Record& record, Extent extent) const {
    std::filesystem::remove(path_);
    Store store = Store::open(path_);
    store.append(record);
    return records_of(store, extent).at(0);
  }
};

Record with_every_phase() {
  Record record = sample_record();
  for (const char* const phase : {"backward", "optimizer", "forward_backward", "inference"}) {
    record.time[phase] = make_time_stats(std::vector{0.1, 0.30000000000000004, 1.0 / 3});
  }
  return record;
}

TEST_F(ListingTest, WholeRecordsRoundTrip) { EXPECT_EQ(read(with_every_phase(), Extent::kWhole), with_every_phase()); }

TEST_F(ListingTest, EveryMetricMatchesTheWholeRecord) {
  for (const char* const pass : {"step", "forward", "backward", "forward_backward", "inference"}) {
    Record whole = with_every_phase();
    whole.config.json()["pass"] = pass;
    whole.loss_scaling = {65536, 32768, 1, 2, 3, {4, 5, 6}};
    for (const Extent extent : {Extent::kNames, Extent::kListed, Extent::kWithConfig}) {
      const Record listed = read(whole, extent);
      EXPECT_TRUE(listed.kernels.empty()) << "the record was read whole";
      for (const Metric& metric : metrics()) {
        EXPECT_LE(extent_of(metric.tag), Extent::kWithConfig) << metric.tag;
        if (extent_of(metric.tag) > extent) continue;
        EXPECT_EQ(metric.read(listed), metric.read(whole)) << metric.tag;
      }
    }
  }
}

TEST_F(ListingTest, KeepsStringsAndListsAndTheConfiguration) {
  Record whole = with_every_phase();
  whole.label = "quotes \" and \\ back, \n line, \x01, \u00e9, \u4e2d, {[,:]}";
  whole.reason = "";
  whole.verdict.reasons = {"a, b", "\"c\"", "[d]", ""};
  whole.status = Status::kOutOfMemory;
  const Record listed = read(whole, Extent::kListed);
  EXPECT_EQ(listed.name, whole.name);
  EXPECT_EQ(listed.label, whole.label);
  EXPECT_EQ(listed.status, whole.status);
  EXPECT_EQ(listed.reason, whole.reason);
  EXPECT_EQ(listed.bytes_requested, whole.bytes_requested);
  EXPECT_EQ(listed.op, whole.op);
  EXPECT_EQ(listed.scope, whole.scope);
  EXPECT_EQ(listed.stopping.steps_per_sample, whole.stopping.steps_per_sample);
  for (const char* const key : {"model", "pass", "dtype", "context_length"}) {
    EXPECT_EQ(listed.config.json()[key], whole.config.json()[key]) << key;
  }
  const Record with_config = read(whole, Extent::kWithConfig);
  EXPECT_TRUE(with_config.kernels.empty()) << "the record was read whole";
  EXPECT_EQ(with_config.phases, whole.phases);
  EXPECT_EQ(with_config.setup, whole.setup);
  EXPECT_EQ(with_config.verdict, whole.verdict);
  EXPECT_EQ(with_config.prediction.time, whole.prediction.time);
  EXPECT_EQ(with_config.config, whole.config);
  ASSERT_EQ(with_config.time.size(), whole.time.size());
  EXPECT_EQ(with_config.time.at("backward").p90, whole.time.at("backward").p90);
  EXPECT_TRUE(with_config.time.at("backward").samples.empty());
}

TEST_F(ListingTest, KeepsTheFirstAndTheLastLoss) {
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

TEST_F(ListingTest, HasTheTimeOfThePassAndMediansOfPhases) {
  const Record whole = with_every_phase();
  const Record line = read(whole, Extent::kListed);
  ASSERT_EQ(line.time.size(), 4U);
  EXPECT_EQ(line.main_time()->median, whole.main_time()->median);
  EXPECT_EQ(line.main_time()->ci_high, whole.main_time()->ci_high);
  EXPECT_EQ(line.time.at("backward").median, whole.time.at("backward").median);
  EXPECT_EQ(line.time.at("backward").count, whole.time.at("backward").count);
  EXPECT_TRUE(line.phases.empty());
  const Record names = read(whole, Extent::kNames);
  EXPECT_EQ(names.math_mode, whole.math_mode);
  EXPECT_EQ(names.config.text("model"), whole.config.text("model"));
  EXPECT_TRUE(names.time.empty());
}

// Record::main_time() returns the only time of a record, whatever its name.
TEST_F(ListingTest, UsesTheOnlyTimeRegardlessOfItsName) {
  Record whole = sample_record();
  whole.time = {{"evaluation", make_time_stats(std::vector{0.25})}};
  ASSERT_EQ(whole.config.text("pass"), "step");
  EXPECT_EQ(read(whole, Extent::kListed).main_time()->median, 0.25);
}

TEST_F(ListingTest, ReadsTheWholeRecordIfThePassHasNoTime) {
  Record record = sample_record();
  record.config.json()["pass"] = "inference";
  EXPECT_EQ(read(record, Extent::kListed), record);
}

TEST_F(ListingTest, ReadsATimeWhoseNameContainsAQuote) {
  Record record = sample_record();
  record.time["a \" quote"] = make_time_stats(std::vector{0.5});
  EXPECT_EQ(read(record, Extent::kWhole), record);
  EXPECT_EQ(read(record, Extent::kListed).main_time()->median, record.main_time()->median);
}

// Each batch of rows is read into the record objects of the previous batch, which must keep none of their old values.
TEST_F(ListingTest, SlowDoesNotMixRows) {
  Record nothing;
  nothing.name = "nothing";
  Record other = with_every_phase();
  other.config.json() = {{"model", "medium"}, {"pass", "forward"}, {"device", "cpu"}, {"d_model", "many"}};
  other.time.erase("step");
  other.phases.resize(1);
  other.prediction.time = {{"backward", 0.5}, {"step", 0.75}};
  other.verdict.reasons.clear();
  const std::vector<Record> kinds{with_every_phase(), nothing, other, sample_record(), with_every_phase()};
  Store store = Store::open(path_);
  for (const Record& record : kinds) store.append(record);
  for (int doubled = 0; doubled < 6; ++doubled) execute("INSERT INTO records (json) SELECT json FROM records");
  for (const Extent extent : {Extent::kNames, Extent::kListed, Extent::kWithConfig}) {
    const std::vector<Record> found = records_of(store, extent);
    ASSERT_EQ(found.size(), kinds.size() * 64);
    for (size_t i = kinds.size(); i < found.size(); ++i) {
      EXPECT_EQ(to_text(found[i]), to_text(found[i % kinds.size()])) << "record " << i;
    }
  }
}

TEST_F(ListingTest, ListsAnEmptyRecord) {
  Record record;
  record.name = "nothing";
  EXPECT_EQ(read(record, Extent::kWithConfig), record);
}

TEST_F(ListingTest, ReadsTheWholeRecordIfItsRowIsMalformed) {
  Store store = Store::open(path_);
  store.append(with_every_phase());
  for (const char* const change :
       {"name = 7", "schema_version = NULL", "status = 'unheard of'", "label = 1.5", "\"memory.peak_bytes\" = 'many'",
        "\"time.PASS.mean\" = 'long'", "\"time.PASS.count\" = NULL", "pass_time = NULL", "losses = 'two'"}) {
    execute(
        fmt::format("DELETE FROM listing; INSERT INTO listing SELECT * FROM listed; UPDATE listing SET {}", change));
    EXPECT_EQ(records_of(store, Extent::kListed), std::vector{with_every_phase()}) << change;
  }
}

TEST(ExtentOf, IsTheSmallestExtentWithTheColumn) {
  EXPECT_EQ(extent_of("status"), Extent::kNames);
  EXPECT_EQ(extent_of("math_mode"), Extent::kNames);
  EXPECT_EQ(extent_of("config.pass"), Extent::kNames);
  EXPECT_EQ(extent_of("config.device"), Extent::kNames);
  EXPECT_EQ(extent_of("median"), Extent::kListed);
  EXPECT_EQ(extent_of("forward_time"), Extent::kListed);
  EXPECT_EQ(extent_of("loss_last"), Extent::kListed);
  EXPECT_EQ(extent_of("memory.peak_bytes"), Extent::kListed);
  EXPECT_EQ(extent_of("sweep"), Extent::kListed);
  EXPECT_EQ(extent_of("config.d_ff"), Extent::kListed);
  EXPECT_EQ(extent_of("config.seed"), Extent::kWithConfig);
  EXPECT_EQ(extent_of("p90"), Extent::kWithConfig);
  EXPECT_EQ(extent_of("phases"), Extent::kWithConfig);
  EXPECT_EQ(extent_of("time.step.median"), Extent::kWithConfig);
  EXPECT_EQ(extent_of("time.step.p90"), Extent::kWithConfig);
  EXPECT_EQ(extent_of("time.step.samples"), Extent::kWhole);
  EXPECT_EQ(extent_of("loss.values.1"), Extent::kWhole);
  EXPECT_EQ(extent_of("machine.cpu"), Extent::kWhole);
  EXPECT_EQ(extent_of("nonsense"), Extent::kWhole);
}

}  // namespace
}  // namespace laptime
