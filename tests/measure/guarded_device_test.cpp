// Whole points, measured on a device whose memory the host cannot access.
#include <gtest/gtest.h>

#include <tuple>

#include "measure/run_one.h"
#include "support/guarded_backend.h"
#include "support/points.h"
#include "support/twins.h"

namespace laptime::test {
namespace {

// Options for one warm-up step and two samples of a small model, followed by `more`.
Options tiny(const Options& more) {
  Options options{{"d-model", "32"}, {"d-ff", "64"},  {"num-layers", "2"}, {"num-heads", "2"}, {"batch", "2"},
                  {"context", "16"}, {"vocab", "61"}, {"threads", "2"},    {"warmup", "1"},    {"steps", "2"}};
  options.insert(options.end(), more.begin(), more.end());
  return options;
}

void expect_the_same(const SweepPoint& point) {
  const PointResult plain = run_one(point, {});
  ASSERT_EQ(plain.record.status, Status::kOk) << plain.record.reason;
  MachineKnowledge same_kernels{.kernel_choices = plain.learned.kernel_choices, .launch_costs = {}, .peaks = {}};
  const PointResult guarded = run_one({point, find_guarded_device}, same_kernels);
  EXPECT_EQ(guarded.record.status, Status::kOk) << guarded.record.reason;
  EXPECT_EQ(guarded.record.loss, plain.record.loss);
  EXPECT_EQ(guarded.record.kernels, plain.record.kernels);
  EXPECT_EQ(guarded.record.phases.size(), plain.record.phases.size());
}

TEST(GuardedDevice, HostAccessCrashes) {
  GuardedBackend backend(std::make_shared<KernelTable>(std::vector<Kernel>{}), 1);
  const std::unique_ptr<DeviceMemory> memory = backend.allocate(64);
  std::byte value{1};
  backend.write(memory->data(), &value, 1);
  value = std::byte{0};
  backend.read(&value, memory->data(), 1);
  EXPECT_EQ(value, std::byte{1});
#ifndef LAPTIME_SANITIZES_MEMORY
  EXPECT_DEATH(*static_cast<volatile std::byte*>(memory->data()), "");
  EXPECT_DEATH(*static_cast<volatile std::byte*>(memory->data()) = value, "");
#endif
}

class GuardedStep : public testing::TestWithParam<std::tuple<const char*, const char*, const char*>> {};

TEST_P(GuardedStep, LossesMatchTheUnguardedDevice) {
  const auto& [edition, dtype, mode] = GetParam();
  expect_the_same(point_of(tiny({{"edition", edition}, {"dtype", dtype}, {"mode", mode}})));
}

INSTANTIATE_TEST_SUITE_P(Editions, GuardedStep,
                         testing::Combine(testing::Values("2024", "2025", "2026", "gpt2"),
                                          testing::Values("float32", "bfloat16"), testing::Values("eager", "compile")));

TEST(GuardedDevice, OtherPassesAndOptionsMatchTheUnguardedDevice) {
  for (const Options& more :
       std::vector<Options>{{{"pass", "inference"}},
                            {{"pass", "forward"}},
                            {{"mode", "compile"}, {"recompute", "block"}, {"clip-norm", "1"}},
                            {{"mode", "compile"}, {"optimizer-in-backward", "true"}},
                            {{"accumulate", "true"}, {"init", "stream"}},
                            {{"edition", "2024"}, {"attn-pdrop", "0.1"}, {"weight-tie", "true"}, {"crop-context", "8"}},
                            {{"mode", "compile"}, {"recompute", "every=2"}}}) {
    expect_the_same(point_of(tiny(more)));
  }
  for (const char* mode : {"eager", "compile"}) {
    expect_the_same(point_of({{"model", "attention"},
                              {"d-model", "16"},
                              {"context", "32"},
                              {"projections", "true"},
                              {"batch", "2"},
                              {"warmup", "1"},
                              {"steps", "2"},
                              {"threads", "2"},
                              {"mode", mode}}));
  }
}

TEST(GuardedDevice, MeasuresKernelChoices) {
  const auto find = [](const RunConfig& config) { return with_twins(find_guarded_device(config)); };
  const PointResult result = run_one({point_of(tiny({{"mode", "compile"}})), find}, {});
  ASSERT_EQ(result.record.status, Status::kOk) << result.record.reason;
  EXPECT_FALSE(result.learned.kernel_choices.empty());
  EXPECT_FALSE(result.learned.peaks.empty());
  for (const KernelChoice& choice : result.learned.kernel_choices)
    EXPECT_NE(choice.device.find("guarded"), std::string::npos);
}

// The search for the first NaN, too, must use transfers instead of direct memory access.
TEST(GuardedDevice, FindsTheFirstNan) {
  const SweepPoint point =
      point_of(tiny({{"lr", "1e6"}, {"optimizer", "torch"}, {"weight-decay", "1e6"}, {"steps", "60"}}));
  const PointResult result = run_one({point, find_guarded_device}, {});
  ASSERT_EQ(result.record.status, Status::kFailed);
  EXPECT_NE(result.record.reason.find(" is an output of "), std::string::npos) << result.record.reason;
}

}  // namespace
}  // namespace laptime::test
