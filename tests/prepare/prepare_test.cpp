// prepare: one value with everything that is known before a point runs, and the same for all who ask.
#include "prepare/prepare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/cpu/cpu_backend.h"
#include "base/error.h"
#include "measure/run_one.h"
#include "support/points.h"

namespace laptime {
namespace {

using test::Options;
using test::point_of;
using testing::HasSubstr;

SweepPoint tiny(const Options& more = {}) {
  return point_of({{"d-model", "32"},
                   {"num-layers", "2"},
                   {"num-heads", "2"},
                   {"vocab", "64"},
                   {"context", "32"},
                   {"batch", "2"},
                   {"device", "cpu"},
                   {"threads", "1"},
                   {"mode", "compile"},
                   {"warmup", "0"},
                   {"steps", "1"}},
                  more);
}

Prepared prepared(const Options& more = {}, const MachineKnowledge& known = {}) {
  const RunConfig config = tiny(more).config;
  return prepare(config, find_device(config), known);
}

TEST(Prepare, ForecastsThePlanThatItMade) {
  const Prepared point = prepared();
  EXPECT_FALSE(point.plan.steps.empty());
  EXPECT_EQ(point.memory.predicted_peak_bytes, point.plan.predicted_peak_bytes());
  EXPECT_EQ(point.memory.recompute, "none");
  EXPECT_EQ(point.shortage, "");
  EXPECT_NO_THROW(point.require_fit());
}

TEST(Prepare, LooksAtAPlanThatDoesNotFit) {
  const Prepared point = prepared({{"memory-limit", "1kB"}, {"recompute", "none"}});
  EXPECT_FALSE(point.plan.steps.empty());
  EXPECT_THAT(point.shortage, HasSubstr("--memory-limit is 1000 B"));
  EXPECT_THROW(point.require_fit(), OutOfMemory);
}

TEST(Prepare, TakesTheKernelsThatAreKnown) {
  const Prepared first = prepared();
  for (const PlanStep& step : first.plan.steps) {
    const Signature signature = step.signature();
    const std::vector<const Kernel*> able = candidates(*first.device.kernels, signature);
    if (able.size() < 2) continue;
    const Prepared other =
        prepared({}, {.kernel_choices = {{"", signature.text(), able[1]->name, 1, ""}}, .peaks = {}});
    const auto same = [&](const PlanStep& candidate) { return candidate.signature().text() == signature.text(); };
    const auto found = std::find_if(other.plan.steps.begin(), other.plan.steps.end(), same);
    ASSERT_NE(found, other.plan.steps.end());
    EXPECT_EQ(found->kernel->name, able[1]->name);
    return;
  }
  FAIL() << "no step has a choice";
}

// The device of the test has a second kernel for one op that is always faster and wants more workspace than the limit
// leaves: what the trial chooses is checked against the limit too.
TEST(Prepare, TheLimitHoldsForTheKernelsThatATrialChooses) {
  constexpr int64_t kHuge = int64_t{64} << 20;
  const FindDevice find = [](const RunConfig& config) {
    Device device = find_device(config);
    std::vector<Kernel> kernels;
    for (const OpCard* op : device.kernels->ops()) {
      const std::span<const Kernel> of_op = device.kernels->of(*op);
      kernels.insert(kernels.end(), of_op.begin(), of_op.end());
      if (std::string_view(op->name) != "linear") continue;
      Kernel greedy = of_op.back();
      greedy.name = "greedy";
      greedy.supports = nullptr;
      greedy.workspace = [](const Signature&) { return kHuge; };
      greedy.launch = [](const KernelCall&) {};  // nothing is faster
      kernels.insert(kernels.end() - 1, greedy);
    }
    device.kernels = std::make_shared<const KernelTable>(std::move(kernels));
    device.open = [kernels = device.kernels]() -> std::unique_ptr<Backend> {
      return std::make_unique<cpu::CpuBackend>(kernels, 1);
    };
    return device;
  };
  const std::string limit = std::to_string(kHuge);
  const Record record = run_one(tiny({{"memory-limit", limit}, {"recompute", "none"}}), {}, {}, find).record;
  EXPECT_EQ(record.status, Status::kOutOfMemory) << record.reason;
  EXPECT_THAT(record.reason, HasSubstr("--memory-limit"));
  EXPECT_GT(*record.memory.predicted_peak_bytes, kHuge);
}

}  // namespace
}  // namespace laptime
