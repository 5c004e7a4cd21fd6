// prepare: plan, forecast and kernel choices of a point before it runs.
#include "prepare/prepare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string_view>

#include "backend/cpu/cpu_backend.h"
#include "base/build_id.h"
#include "base/error.h"
#include "measure/run_one.h"
#include "prepare/knowledge.h"
#include "support/points.h"
#include "support/twins.h"

namespace laptime {
namespace {

using test::Options;
using test::point_of;
using testing::HasSubstr;

constexpr int64_t kHuge = int64_t{64} << 20;

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

// Attention scores take most of the memory at this shape, so the peak shows whether backward of softmax keeps an extra
// tensor alive. The expected bytes are those of PyTorch 2.15, without parameters and batch.
TEST(Prepare, EagerPeakOfManyHeadsMatchesPyTorch) {
  RunConfig config;
  config.device = "cpu";
  config.model = {.name = "custom",
                  .edition = Edition::kGpt2,
                  .d_model = 66,
                  .d_ff = 1,
                  .num_layers = 2,
                  .num_heads = 66,
                  .vocab_size = 509,
                  .context_length = 66,
                  .batch_size = 7};
  config.model.weight_tie = config.model.bias = true;
  config.recompute = "none";
  for (const auto& [pass, bytes] :
       {std::pair(Pass::kInference, 41'107'572.0), {Pass::kForwardBackward, 67'012'072.0}}) {
    config.pass = pass;
    const Prepared prepared = prepare(config, find_device(config), {});
    const auto peak = static_cast<double>(prepared.plan.live_peak_bytes);
    EXPECT_NEAR(peak / bytes, 1, 0.01) << peak;
  }
}

// At these shapes, naive placement of the buffers wastes 7,936 bytes if updates run in backward.
TEST(Prepare, SlowNeverNeedsMoreMemoryForUpdatesInBackward) {
  for (const char* edition : {"2025", "2026"}) {
    for (const char* optimizer : {"2025", "2026", "torch"}) {
      for (const char* mode : {"eager", "compile"}) {
        std::vector<int64_t> peaks;
        for (const char* in_backward : {"false", "true"}) {
          const RunConfig config = point_of({{"d-model", "64"},
                                             {"d-ff", "192"},
                                             {"num-heads", "2"},
                                             {"num-layers", "4"},
                                             {"context", "32"},
                                             {"batch", "2"},
                                             {"vocab", "32"},
                                             {"dtype", "bfloat16"},
                                             {"edition", edition},
                                             {"optimizer", optimizer},
                                             {"mode", mode},
                                             {"optimizer-in-backward", in_backward}})
                                       .config;
          const Device device = find_device(config);
          peaks.push_back(predicted_peak_bytes(prepare(config, device, {}).plan, memory_bound(config, device)));
        }
        EXPECT_LE(peaks[1], peaks[0]) << edition << ' ' << optimizer << ' ' << mode;
      }
    }
  }
}

TEST(Prepare, PlansStepsAndPredictsMemory) {
  const Prepared point = prepared();
  EXPECT_FALSE(point.plan.steps.empty());
  EXPECT_EQ(point.memory.predicted_peak_bytes, predicted_peak_bytes(point.plan, point.bound));
  EXPECT_EQ(point.memory.recompute, "none");
  EXPECT_EQ(point.shortage, "");
  EXPECT_NO_THROW(point.require_fit());
}

// The first kernel of an op needs more workspace than the others.
TEST(Prepare, AcceptsAPlanThatFitsWithOtherKernels) {
  const RunConfig config = tiny({{"recompute", "block"}}).config;
  Device device = find_device(config);
  const int64_t peak = predicted_peak_bytes(prepare(config, device, {}).plan, memory_bound(config, device));
  std::vector<Kernel> kernels;
  for (const OpCard* const op : device.kernels->ops()) {
    const auto known = device.kernels->of(*op);
    if (std::string_view(op->name) == "rms_norm") {
      kernels.push_back(known.front());
      kernels.back().name = "greedy";
      kernels.back().workspace = [](const Signature&) { return kHuge; };
    }
    kernels.insert(kernels.end(), known.begin(), known.end());
  }
  device.kernels = std::make_shared<const KernelTable>(kernels);
  const auto with_limit = [&](int64_t bytes) {
    RunConfig limited = config;
    limited.memory_limit = fmt::format("{}B", bytes);
    return prepare(limited, device, {});
  };
  EXPECT_EQ(with_limit(peak + 2 * kHuge).choices.saves_memory, false);
  const Prepared fits = with_limit(peak);
  EXPECT_EQ(fits.shortage, "");
  EXPECT_TRUE(fits.choices.saves_memory);
  for (const PlanStep& step : fits.plan.steps) EXPECT_NE(step.kernel->name, "greedy");
  EXPECT_NE(with_limit(1000).shortage, "");
}

TEST(Prepare, ReturnsAPlanThatDoesNotFit) {
  const Prepared point = prepared({{"memory-limit", "1kB"}, {"recompute", "none"}});
  EXPECT_FALSE(point.plan.steps.empty());
  EXPECT_THAT(point.shortage, HasSubstr("the step may use 1000 B (--memory-limit)"));
  EXPECT_THROW(point.require_fit(), OutOfMemory);
}

TEST(Prepare, UsesStoredKernelChoices) {
  const Prepared first = prepared();
  for (const PlanStep& step : first.plan.steps) {
    const Signature signature = step.signature();
    const std::vector<const Kernel*> able = candidates(*first.device.kernels, signature);
    if (able.size() < 2) continue;
    const Prepared other = prepared(
        {}, {.kernel_choices = {{"", signature.text(), able[1]->name, 1, ""}}, .launch_costs = {}, .peaks = {}});
    const auto same = [&](const PlanStep& candidate) { return candidate.signature().text() == signature.text(); };
    const auto found = std::find_if(other.plan.steps.begin(), other.plan.steps.end(), same);
    ASSERT_NE(found, other.plan.steps.end());
    EXPECT_EQ(found->kernel->name, able[1]->name);
    return;
  }
  FAIL() << "no step has a choice";
}

// If a stored choice names a kernel that no longer exists, a new trial decides.
TEST(Prepare, MeasuresAgainIfAChosenKernelNoLongerExists) {
  const ResolvedPoint point{tiny({{"pass", "inference"}}), test::find_device_with_twins};
  const PointResult first = run_one(point, {});
  ASSERT_EQ(first.record.status, Status::kOk) << first.record.reason;
  ASSERT_FALSE(first.learned.kernel_choices.empty());
  const PointResult second = run_one(point, first.learned);
  EXPECT_TRUE(second.learned.kernel_choices.empty());

  MachineKnowledge stale = first.learned;
  stale.kernel_choices.front().kernel = "gone";
  const PointResult repaired = run_one(point, stale);
  ASSERT_EQ(repaired.learned.kernel_choices.size(), 1U);
  const KernelChoice& choice = repaired.learned.kernel_choices.front();
  EXPECT_EQ(choice.signature, stale.kernel_choices.front().signature);
  EXPECT_NE(choice.kernel, "gone");
  EXPECT_EQ(choice.device, point.device_key);
  EXPECT_FALSE(choice.created.empty());
}

TEST(Prepare, DeviceKeyContainsTheKernelsId) {
  EXPECT_EQ(kernels_id().size(), 16U);
  EXPECT_THAT(device_key(find_device(tiny().config)), testing::EndsWith(fmt::format("/kernels:{}", kernels_id())));
}

// A device with one additional kernel for linear, which is always the fastest and needs a huge workspace.
Device find_greedy_device(const RunConfig& config) {
  Device device = find_device(config);
  std::vector<Kernel> kernels;
  for (const OpCard* op : device.kernels->ops()) {
    const std::span<const Kernel> same_op = device.kernels->of(*op);
    kernels.insert(kernels.end(), same_op.begin(), same_op.end());
    if (std::string_view(op->name) != "linear") continue;
    Kernel greedy = same_op.back();
    greedy.name = "greedy";
    greedy.supports = nullptr;
    greedy.workspace = [](const Signature&) { return kHuge; };
    greedy.launch = [](const KernelCall&) {};
    kernels.insert(kernels.end() - 1, greedy);
  }
  device.kernels = std::make_shared<const KernelTable>(std::move(kernels));
  device.open = [kernels = device.kernels](int) -> std::unique_ptr<Backend> {
    return std::make_unique<cpu::CpuBackend>(kernels, 1);
  };
  return device;
}

bool uses_greedy(const Record& record) {
  return std::any_of(record.kernels.begin(), record.kernels.end(),
                     [](const KernelUse& use) { return use.kernel == "greedy"; });
}

TEST(Prepare, UsesChosenKernelOnlyIfItsWorkspaceFits) {
  const Options fixed{{"recompute", "none"}, {"pass", "inference"}};
  const PointResult free = run_one({tiny(fixed), find_greedy_device}, {});
  const auto is_greedy = [](const KernelChoice& choice) { return choice.kernel == "greedy"; };
  ASSERT_TRUE(std::any_of(free.learned.kernel_choices.begin(), free.learned.kernel_choices.end(), is_greedy));
  Options limited = fixed;
  // The limit is enough for the workspace alone, but not for the weights as well.
  limited.push_back({"memory-limit", std::to_string(kHuge) + "B"});
  const Record record = run_one({tiny(limited), find_greedy_device}, free.learned).record;
  EXPECT_EQ(record.status, Status::kOk) << record.reason;
  EXPECT_FALSE(uses_greedy(record));
  EXPECT_LE(*record.memory.predicted_peak_bytes, kHuge);
}

// The memory of a kernel trial counts towards the limit, although the step itself does not hold it.
TEST(Prepare, KernelTrialRespectsTheMemoryLimit) {
  const std::string limit = std::to_string(kHuge);
  const PointResult result = run_one({tiny({{"memory-limit", limit}, {"recompute", "none"}}), find_greedy_device}, {});
  EXPECT_EQ(result.record.status, Status::kOk) << result.record.reason;
  EXPECT_FALSE(uses_greedy(result.record));
  EXPECT_LE(*result.record.memory.peak_bytes, kHuge);
  for (const KernelChoice& choice : result.learned.kernel_choices) EXPECT_NE(choice.kernel, "greedy");
}

// If the loss does not materialise the logits, the trial of loss kernels does not allocate logits either.
TEST(Prepare, TrialSkipsUnreadOutputs) {
  const SweepPoint point = point_of({{"d-model", "16"},
                                     {"num-layers", "1"},
                                     {"num-heads", "2"},
                                     {"vocab", "50000"},
                                     {"batch", "8"},
                                     {"context", "64"},
                                     {"mode", "compile"},
                                     {"recompute", "block"},
                                     {"memory-limit", "64MiB"},
                                     {"device", "cpu"},
                                     {"threads", "1"},
                                     {"warmup", "0"},
                                     {"steps", "1"}});
  const PointResult result = run_one({point, test::find_device_with_twins}, {});
  ASSERT_EQ(result.record.status, Status::kOk) << result.record.reason;
  EXPECT_LE(*result.record.memory.peak_bytes, int64_t{64} << 20);
  EXPECT_FALSE(result.learned.kernel_choices.empty());
}

}  // namespace
}  // namespace laptime
