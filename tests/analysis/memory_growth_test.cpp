// How a peak grows with the context, derived from the buffers of two traces.
#include "analysis/memory_findings.h"

#include <gtest/gtest.h>

#include <string>

#include "analysis/made_trace.h"

namespace laptime {
namespace {

// A step at the given context length: parameters, an activation that grows linearly with it, and scores that grow with
// its square.
StepTrace trace_at(int64_t context, const char* scores = "softmax") {
  MadeTrace made;
  made.launch("forward", "layers.0.attn", "linear");
  made.launch("forward", "layers.0.attn.scores", scores);
  made.launch("backward", "layers.0.attn", "matmul");
  made.buffer(context * 1024, 0, 2, true);
  made.buffer(context * context * 16, 1, 2, true);
  made.buffer(1 << 16, 0, 0, false);  // not held at the peak
  made.resident(1 << 18, "parameter", "weight");
  StepTrace trace = made.trace;
  trace.resident_bytes = 1 << 18;
  trace.arena_bytes = context * 1024 + context * context * 16;
  return trace;
}

TEST(MemoryGrowth, ClassifiesBuffersByPowerOfTheContext) {
  const Finding growth = memory_growth_finding("step", trace_at(256), 256, trace_at(1024), 1024);
  EXPECT_EQ(growth.integer("constant_bytes"), 1 << 18);
  EXPECT_EQ(growth.integer("linear_bytes"), 1024 * 1024);
  EXPECT_EQ(growth.integer("square_bytes"), 16 * 1024 * 1024);
  EXPECT_EQ(growth.text("square_op"), "softmax");
}

TEST(MemoryGrowth, SkipsStepsWithDifferentKernels) {
  EXPECT_FALSE(
      memory_growth_finding("step", trace_at(256, "attention"), 256, trace_at(1024), 1024).has("square_bytes"));
}

}  // namespace
}  // namespace laptime
