// Stored knowledge of devices: kernel choices, costs of launches, peaks, and errors of predictions.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "config/fields_json.h"
#include "record/sample_record.h"
#include "record/store.h"
#include "record/store_fixture.h"

namespace laptime {
namespace {

TEST(StoreKnowledge, RoundTripsAsJson) {
  const KernelChoice choice{"machine", "matmul(float32 [2, 2])", "tiles", 0.5, "2026-01-02T03:04:05Z"};
  EXPECT_EQ(from_json<KernelChoice>(to_json(choice), "choice"), choice);
  const MeasuredPeak peak{"machine", "float32", 1e11, "FLOP/s", "2026-01-02T03:04:05Z"};
  EXPECT_EQ(from_json<MeasuredPeak>(to_json(peak), "peak"), peak);
}

TEST_F(StoreTest, KeepsKernelChoicesPerMachine) {
  Store store = Store::open(path_);
  const std::vector<KernelChoice> choices{{"m1", "matmul a", "onednn", 1e-3, "2025-11-21T10:15:00Z"},
                                          {"m1", "matmul b", "blocked", 2e-3, "2025-11-21T10:15:00Z"},
                                          {"m2", "matmul a", "blocked", 3e-3, "2025-11-21T10:15:00Z"}};
  store.put(choices);
  EXPECT_EQ(store.kernel_choices("m1"), (std::vector<KernelChoice>{choices[0], choices[1]}));
  const std::vector<KernelChoice> again{{"m1", "matmul a", "blocked", 5e-4, "2025-11-22T10:15:00Z"}};
  store.put(again);
  EXPECT_EQ(store.kernel_choices("m1"), (std::vector<KernelChoice>{again[0], choices[1]}));
  EXPECT_TRUE(store.kernel_choices("m3").empty());
}

TEST_F(StoreTest, KeepsMeasuredPeaks) {
  Store store = Store::open(path_);
  EXPECT_TRUE(store.measured_peaks("m1").empty());
  const MeasuredPeak peak{"m1", "float32_flops_per_second", 1.25e11, "FLOP/s", "2025-11-21T10:15:00Z"};
  store.put(peak);
  EXPECT_EQ(store.measured_peaks("m1"), (std::vector<MeasuredPeak>{peak}));
  const MeasuredPeak other{"m1", "bytes_per_second", 2.1e10, "bytes/s", "2025-11-21T10:15:00Z"};
  store.put(other);
  EXPECT_EQ(store.measured_peaks("m1"), (std::vector<MeasuredPeak>{other, peak}));
  EXPECT_TRUE(store.measured_peaks("m2").empty());
}

TEST_F(StoreTest, KeepsTheBestPeakEverMeasured) {
  Store store = Store::open(path_);
  for (const double value : {1e11, 2e11, 1.5e11}) store.put(MeasuredPeak{"m1", "peak", value, "FLOP/s", "2025"});
  for (const double value : {3e-7, 2e-7, 4e-7}) store.put(MeasuredPeak{"m1", "page_fault", value, "s", "2025"});
  const std::vector<MeasuredPeak> peaks = store.measured_peaks("m1");
  ASSERT_EQ(peaks.size(), 2U);
  EXPECT_EQ(peaks[0].value, 2e-7);
  EXPECT_EQ(peaks[1].value, 2e11);
}

TEST_F(StoreTest, LaunchCostIsTheMeanOfSimilarRuns) {
  Store store = Store::open(path_);
  const auto put = [&](double seconds, const std::string& kernel = "blocked") {
    store.put(std::vector<LaunchCost>{{"m1/cpu", 2, "matmul a", kernel, "matmul float32", 6e9, 300, seconds, "2025"}});
    const std::vector<LaunchCost> costs = store.launch_costs("m1/cpu");
    EXPECT_EQ(costs.size(), 1U);
    return std::pair(costs.at(0).seconds, costs.at(0).runs);
  };
  EXPECT_EQ(put(1.0), std::pair(1.0, int64_t{1}));
  EXPECT_EQ(put(1.25), std::pair(1.125, int64_t{2}));
  EXPECT_EQ(put(2.0), std::pair(1.125, int64_t{2}));  // ignored: another program must have slowed this run
  EXPECT_EQ(put(0.5), std::pair(0.5, int64_t{1}));    // much faster: the earlier runs must have been slowed
  EXPECT_EQ(put(4.0, "tiles"), std::pair(4.0, int64_t{1}));
}

TEST_F(StoreTest, UndisturbedLaunchReplacesDisturbedOnes) {
  Store store = Store::open(path_);
  const auto put = [&](double seconds, const std::string& disturbance) {
    LaunchCost cost{"m1/cpu", 2, "matmul a", "blocked", "matmul float32", 6e9, 300, seconds, "2025"};
    cost.disturbance = disturbance;
    store.put(std::vector{cost});
    const std::vector<LaunchCost> costs = store.launch_costs("m1/cpu");
    return std::pair(costs.at(0).seconds, costs.at(0).disturbance);
  };
  EXPECT_EQ(put(1.0, "steps varied by 20 %"), std::pair(1.0, std::string("steps varied by 20 %")));
  EXPECT_EQ(put(1.5, "steps varied by 30 %"), std::pair(1.25, std::string("steps varied by 30 %")));
  EXPECT_EQ(put(1.3, ""), std::pair(1.3, std::string()));
  EXPECT_EQ(put(1.2, "steps varied by 20 %"), std::pair(1.3, std::string()));
}

TEST_F(StoreTest, ComparesEarlierPredictionsWithMeasurements) {
  Store store = Store::open(path_);
  Record record = sample_record();
  record.fingerprint = "m1";
  record.status = Status::kOk;
  record.verdict.rating = "stable";
  record.config = Json{{"pass", "step"}, {"device", "cpu"}};
  record.time["step"] = make_time_stats(std::vector{2.0});
  record.prediction.from = "measured launches";
  record.prediction.time = {{"step", 1.5}};
  store.append(record);
  record.prediction.from = "data sheet";
  store.append(record);
  record.prediction = {};
  store.append(record);
  EXPECT_EQ(store.prediction_errors("m1/cpu/avx2/threads:2"), std::vector<double>{-0.25});
  EXPECT_TRUE(store.prediction_errors("m1/cuda/a card/driver:1").empty());
  EXPECT_TRUE(store.prediction_errors("m2/cpu/avx2/threads:2").empty());
}

}  // namespace
}  // namespace laptime
