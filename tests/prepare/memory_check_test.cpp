// The memory bound of a step, which explain and bench respect.
#include "prepare/memory_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "explain/explain.h"
#include "measure/run_one.h"
#include "points/expand.h"
#include "prepare/device.h"
#include "prepare/prepare.h"
#include "report/explanation_text.h"
#include "support/points.h"

namespace laptime {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

using test::Options;
using test::point_of;

SweepPoint on_l4(const Options& more = {}) {
  return point_of({{"d-model", "32"},
                   {"num-layers", "4"},
                   {"num-heads", "2"},
                   {"vocab", "64"},
                   {"context", "64"},
                   {"batch", "4"},
                   {"warmup", "0"},
                   {"steps", "1"},
                   {"device", "roofline:l4"}},
                  more);
}

int64_t peak(const Options& more) { return explain(on_l4(more), {}).memory->predicted_peak_bytes; }

MemoryBound bound_with(const Options& more) {
  const RunConfig config = on_l4(more).config;
  return memory_bound(config, find_device(config));
}

TEST(MemoryBound, IsTheSmallerOfLimitAndDeviceMemory) {
  const int64_t memory = *find_device(on_l4().config).memory_bytes;
  const MemoryBound device = bound_with({});
  EXPECT_NEAR(static_cast<double>(*device.bytes), 0.95 * static_cast<double>(memory), 1);
  EXPECT_THAT(device.text, AllOf(StartsWith(fmt::format("the step may use {} (95 % of ", format_bytes(*device.bytes))),
                                 HasSubstr(", roofline:l4)")));
  const MemoryBound limit = bound_with({{"memory-limit", "1GiB"}});
  EXPECT_EQ(limit.bytes, int64_t{1} << 30U);
  EXPECT_EQ(limit.text, "the step may use 1.000 GiB (--memory-limit)");
  EXPECT_EQ(bound_with({{"memory-limit", "1TiB"}}).text, device.text);
}

TEST(MemoryBound, PoolingDeviceHoldsOnlyLiveBytes) {
  const SweepPoint point = on_l4();
  Device device = find_device(point.config);
  const Prepared placed = prepare(point.config, device, {});
  device.pools_steps = true;
  const Prepared pooled = prepare(point.config, device, {});
  EXPECT_EQ(predicted_peak_bytes(pooled.plan, pooled.bound), pooled.plan.resident_bytes + pooled.plan.live_peak_bytes);
  EXPECT_EQ(pooled.memory.predicted_peak_bytes, predicted_peak_bytes(pooled.plan, pooled.bound));
  EXPECT_LE(*pooled.memory.predicted_peak_bytes, *placed.memory.predicted_peak_bytes);
  int64_t parts = 0;
  for (const auto& [name, bytes] : pooled.memory.parts) parts += bytes;
  EXPECT_EQ(parts, *pooled.memory.predicted_peak_bytes);
}

TEST(MemoryLimit, SlowIsRespectedByExplainAndBench) {
  for (const char* recompute : {"none", "block", "every=2", "auto"}) {
    const SweepPoint point = on_l4({{"memory-limit", "1kB"}, {"recompute", recompute}});
    const Explanation explanation = explain(point, {});
    ASSERT_TRUE(explanation.memory.has_value()) << recompute;
    EXPECT_THAT(explanation.memory->does_not_fit, AllOf(StartsWith("predicted: " + explanation.memory->arithmetic),
                                                        HasSubstr("the step may use 1000 B (--memory-limit)")));
    EXPECT_EQ(explanation.memory->available_bytes, 1000);
    EXPECT_THAT(print(explanation), HasSubstr("DOES NOT FIT: the step may use 1000 B (--memory-limit)"));
    EXPECT_THAT(dump_plan(point, {}), HasSubstr("persistent parameter"));
    const Record record = run_one(point, {}).record;
    EXPECT_EQ(record.status, Status::kOutOfMemory);
    EXPECT_EQ(record.reason, explanation.memory->does_not_fit);
    EXPECT_EQ(record.bytes_requested, explanation.memory->predicted_peak_bytes);
    EXPECT_EQ(record.bytes_available, 1000);
    EXPECT_FALSE(record.memory.largest.empty());
  }
}

// The step holds two blocks of several MiB in whole huge pages. The limits are the bytes held and one byte less.
TEST(MemoryLimit, SlowIsExactToTheByteOnACpu) {
  const auto on_cpu = [](const Options& more) {
    return point_of({{"model", "custom"},
                     {"d-model", "96"},
                     {"d-ff", "192"},
                     {"num-layers", "2"},
                     {"num-heads", "2"},
                     {"vocab", "500"},
                     {"context", "64"},
                     {"batch", "4"},
                     {"warmup", "0"},
                     {"steps", "1"},
                     {"recompute", "none"},
                     {"device", "cpu"},
                     {"threads", "1"}},
                    more);
  };
  const Record free = run_one(on_cpu({}), {}).record;
  ASSERT_EQ(free.status, Status::kOk) << free.reason;
  const int64_t held = *free.memory.predicted_peak_bytes;
  EXPECT_EQ(free.memory.peak_bytes, held);
  ASSERT_GT(free.memory.parts.at("rounding"), 0);
  const Record exact = run_one(on_cpu({{"memory-limit", std::to_string(held) + "B"}}), {}).record;
  EXPECT_EQ(exact.status, Status::kOk) << exact.reason;
  EXPECT_LE(*exact.memory.peak_bytes, held);
  const Record less = run_one(on_cpu({{"memory-limit", std::to_string(held - 1) + "B"}}), {}).record;
  EXPECT_EQ(less.status, Status::kOutOfMemory);
  EXPECT_THAT(less.reason, HasSubstr(" + rounding "));
}

TEST(MemoryLimit, SlowStatesThePlannedPeakInItsAdvice) {
  const Options small{{"model", "small"}, {"device", "roofline:l4"}};
  const auto memory_of = [&](const Options& more) { return *explain(point_of(small, more), {}).memory; };
  const std::string advice = memory_of({{"memory-limit", "1GiB"}}).advice;
  EXPECT_THAT(advice, StartsWith("no other --recompute value needs less memory than "));
  const int64_t advised = memory_of({{"optimizer-in-backward", "true"}, {"recompute", "block"}}).predicted_peak_bytes;
  EXPECT_THAT(advice, HasSubstr("with --optimizer-in-backward needs " + format_bytes(advised)));
}

TEST(MemoryLimit, AutoSuggestsOptionsThatSaveMemory) {
  const SweepPoint point = on_l4({{"memory-limit", "1kB"}, {"mode", "compile"}});
  EXPECT_EQ(point.config.recompute, "auto");
  const Explanation explanation = explain(point, {});
  const std::string advice = explanation.memory->advice;
  EXPECT_THAT(explanation.memory->does_not_fit,
              testing::EndsWith("the step may use 1000 B (--memory-limit); " + advice));
  EXPECT_THAT(print(explanation), HasSubstr("the step may use 1000 B (--memory-limit); " + advice));
  EXPECT_THAT(advice, AllOf(StartsWith("no other --recompute value needs less memory than "),
                            HasSubstr("with --optimizer-in-backward needs ")));
  EXPECT_THAT(explain(on_l4({{"memory-limit", "1kB"}, {"pass", "forward_backward"}}), {}).memory->does_not_fit,
              testing::Not(HasSubstr("optimizer-in-backward")));
  EXPECT_THAT(explain(on_l4({{"memory-limit", "1kB"}, {"recompute", "none"}}), {}).memory->does_not_fit,
              testing::EndsWith("the step may use 1000 B (--memory-limit)"));
}

TEST(MemoryLimit, SlowMakesAutoRecomputeAsLittleAsPossible) {
  const int64_t none = peak({});
  const int64_t block = peak({{"recompute", "block"}});
  ASSERT_LT(block, none);
  const auto recomputed = [](int64_t limit) {
    const Record record = run_one(on_l4({{"memory-limit", std::to_string(limit) + "B"}}), {}).record;
    EXPECT_EQ(record.status, Status::kOk) << record.reason;
    EXPECT_LE(*record.memory.predicted_peak_bytes, limit);
    return record.memory.recompute;
  };
  EXPECT_EQ(recomputed(none), "none");
  EXPECT_THAT(recomputed(none - 1), StartsWith("block in layers 0-"));
  const Explanation fits = explain(on_l4({{"memory-limit", std::to_string(none - 1) + "B"}}), {});
  EXPECT_EQ(fits.memory->does_not_fit, "");
  EXPECT_THAT(print(fits), HasSubstr("recomputed in backward: block in layers 0-"));
  EXPECT_THAT(dump_graph(on_l4({{"memory-limit", std::to_string(none - 1) + "B"}}), {}), HasSubstr("after recompute"));
  EXPECT_THAT(dump_graph(on_l4({{"memory-limit", std::to_string(none) + "B"}}), {}),
              testing::Not(HasSubstr("after recompute")));
}

TEST(MemoryLimit, AppliesToTheAttentionModel) {
  Sweep sweep;
  for (const auto& [flag, value] : Options{{"model", "attention"}, {"device", "roofline:l4"}, {"memory-limit", "1kB"}})
    set_option(sweep, flag, "test", {value});
  const Explanation explanation = explain(expand(sweep).at(0), {});
  EXPECT_THAT(explanation.memory->does_not_fit, HasSubstr("the step may use 1000 B (--memory-limit)"));
}

}  // namespace
}  // namespace laptime
