// The bytes held between phases, and the buffers alive at the peak.
#include "plan/live_bytes.h"

#include <gtest/gtest.h>

#include <limits>

#include "graph/structural_ops.h"
#include "model/train_step.h"
#include "ops/pointwise/pointwise.h"
#include "ops/reduce/reduce.h"
#include "passes/pipeline.h"
#include "plan/any_kernel.h"

namespace laptime::test {
namespace {

// w [5] -> e = exp(w) -> s = e * e -> loss = sum(s). Between the phases, w (64 aligned bytes), e (for backward) and the
// loss are alive, and s has been freed. At the end, w, the loss and the gradient are alive.
TEST(LiveBytes, CountsBytesBetweenPhases) {
  Builder build;
  const ValueId w = build.source("w", contiguous_type(DType::kFloat32, {5}), Role::kParameter);
  const ValueId e = exp(build, w);
  const ValueId loss = sum_all(build, mul(build, e, e));
  build.output("loss", loss);
  build.current = {Phase::kBackward, {}, {}, false};
  build.output("grad", gradients(build, loss, std::vector<ValueId>{w})[0]);
  const Plan plan = make_plan(run_passes(build.finish(), {}), any_kernel);
  EXPECT_EQ(plan.resident_bytes, 64);
  EXPECT_EQ(bytes_after(plan, Phase::kForward), 64 + 20 + 4);
  EXPECT_EQ(bytes_after(plan, Phase::kBackward), 64 + 4 + 20);
  EXPECT_EQ(bytes_after(plan, Phase::kOptimizer), std::nullopt);
}

TEST(LiveBytes, PeakIsTheSumOfLiveBuffers) {
  RunConfig config;
  config.model.num_layers = 2;
  config.pass = Pass::kForwardBackward;
  const Plan plan = make_plan(run_passes(build_train_step(config), {}), any_kernel);
  int64_t step_bytes = 0;
  int64_t last = std::numeric_limits<int64_t>::max();
  for (const int index : alive_at_peak(plan)) {
    const Buffer& buffer = plan.buffers[static_cast<size_t>(index)];
    EXPECT_LE(buffer.bytes, last);
    EXPECT_EQ(buffer.type.bytes(), buffer.bytes) << buffer.name << buffer.op;
    last = buffer.bytes;
    if (buffer.lifetime == Lifetime::kStep) step_bytes += buffer.bytes;
  }
  EXPECT_EQ(step_bytes, plan.live_peak_bytes);
}

}  // namespace
}  // namespace laptime::test
