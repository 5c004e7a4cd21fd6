// --accumulate: the gradients that a step keeps for the next one.
#include <gtest/gtest.h>

#include "support/training.h"

namespace laptime::test {
namespace {

RunConfig accumulating(Pass pass) {
  RunConfig config = tiny_config(Edition::k2024);
  config.pass = pass;
  config.accumulate = true;
  return config;
}

// Forward computes no gradients, so it would only hold memory for them.
TEST(Accumulate, TakesNoMemoryInForward) {
  RunConfig config = accumulating(Pass::kForward);
  const Plan kept = Training(config).executor().plan();
  config.accumulate = false;
  const Plan plain = Training(config).executor().plan();
  EXPECT_EQ(kept.resident_bytes, plain.resident_bytes);
  EXPECT_EQ(kept.live_peak_bytes, plain.live_peak_bytes);
  EXPECT_EQ(kept.buffers.size(), plain.buffers.size());
}

}  // namespace
}  // namespace laptime::test
