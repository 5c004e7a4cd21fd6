// The peak rates of the machine, as measured by the backend.
#include <gtest/gtest.h>
#include <sched.h>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/gemm/bfloat16_pairs.h"
#include "backend/cpu/peak/peak.h"
#include "base/cores.h"
#include "base/error.h"
#include "base/isa.h"
#include "support/types.h"

namespace laptime::cpu {
namespace {

// The bounds are wide, because the machine may be busy.
TEST(Peak, FlopsPerSecondArePlausible) {
  Team team(2);
  for (const Isa isa : runnable_isas()) {
    const ComputePeak float32 = measure_float32_peak(team, isa);
    EXPECT_GT(float32.one_core, 1e8) << name_of(isa);
    EXPECT_LT(float32.one_core, 1e12) << name_of(isa);
    EXPECT_GT(float32.all_threads, 1e8) << name_of(isa);
    EXPECT_LT(float32.all_threads, 2e12) << name_of(isa);
  }
  const ComputePeak bfloat16 = measure_bfloat16_peak(team);
  EXPECT_EQ(bfloat16.one_core > 0, bfloat16_pairs() != nullptr);
  EXPECT_EQ(bfloat16.all_threads > 0, bfloat16_pairs() != nullptr);
}

// Restricts this thread, and threads that it starts, to the first hardware thread that it may use.
class OnOneCore {
 public:
  OnOneCore() {
    const int core = allowed_cores().front();
    if (core >= CPU_SETSIZE || sched_getaffinity(0, sizeof(before_), &before_) != 0) return;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<size_t>(core), &one);
    is_restricted_ = sched_setaffinity(0, sizeof(one), &one) == 0;
  }
  OnOneCore(const OnOneCore&) = delete;
  OnOneCore& operator=(const OnOneCore&) = delete;
  ~OnOneCore() {
    if (is_restricted_) sched_setaffinity(0, sizeof(before_), &before_);
  }
  bool is_restricted() const { return is_restricted_; }

 private:
  bool is_restricted_ = false;
  cpu_set_t before_{};
};

TEST(Peak, ThreadsOnOneCoreHaveThePeakOfOneThread) {
  const OnOneCore one_core;
  if (!one_core.is_restricted()) GTEST_SKIP() << "this machine has more hardware threads than cpu_set_t holds";
  EXPECT_EQ(concurrent_threads(Team(1)), 1);
  Team team(16);
  EXPECT_EQ(concurrent_threads(team), 1);
  CpuBackend many(std::vector<Kernel>(), 16);
  CpuBackend one(std::vector<Kernel>(), 1);
  const DeviceLimit shared = many.limits(DType::kFloat32).front();
  const DeviceLimit alone = one.limits(DType::kFloat32).front();
  EXPECT_EQ(shared.name, alone.name);
  EXPECT_LT(shared.measure().value, 4 * alone.measure().value);
}

TEST(Peak, UsesMultiplyAddsIfFasterPathsAreDisabled) {
  CpuBackend all(std::vector<Kernel>(), 1);
  CpuBackend limited(std::make_shared<KernelTable>(std::vector<Kernel>()), 1,
                     {.bfloat16 = false, .split_float32 = false});
  const std::string multiply_adds = limited.limits(DType::kFloat32).front().name;
  EXPECT_NE(all.limits(DType::kFloat32).front().name, multiply_adds);
  EXPECT_NE(all.limits(DType::kBFloat16).front().name, multiply_adds);
  EXPECT_EQ(limited.limits(DType::kBFloat16).front().name, multiply_adds);
  EXPECT_EQ(all.limits(DType::kFloat16).front().name, multiply_adds);
}

TEST(Peak, BandwidthIsPlausible) {
  Team team(2);
  const double bandwidth = measure_bandwidth(team, widest_isa());
  EXPECT_GT(bandwidth, 1e8);
  EXPECT_LT(bandwidth, 2e12);
}

TEST(Peak, MeasuringBandwidthThrowsIfMemoryIsShort) {
  Team team(1);
  EXPECT_THROW(measure_bandwidth(team, widest_isa(), {.bytes = 100 * test::kMebibyte}), OutOfMemory);
}

}  // namespace
}  // namespace laptime::cpu
