// Advice on sizes that fit in memory: bench accepts each suggested size.
#include "measure/forecast_point.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "support/knowledge.h"
#include "support/points.h"

namespace laptime {
namespace {

using testing::HasSubstr;
using testing::Not;

const test::Options kModel{{"d-model", "64"}, {"d-ff", "128"},   {"num-layers", "2"},         {"num-heads", "2"},
                           {"vocab", "1000"}, {"context", "64"}, {"device", "roofline:h100"}, {"recompute", "none"}};
const KnowledgeOf kNothing = test::known(MachineKnowledge());

int64_t peak_bytes_of(const test::Options& options) {
  const Prepared prepared = plan_of(test::point_of(kModel, options), kNothing);
  return predicted_peak_bytes(prepared.plan, prepared.bound);
}

// The advice for the point if it may use this much memory.
std::string advice_for(test::Options options, int64_t bytes) {
  options.emplace_back("memory-limit", std::to_string(bytes));
  return sizes_that_fit(test::point_of(kModel, options), kNothing);
}

TEST(FitAdvice, SuggestsASmallerBatchOrContext) {
  const int64_t bytes = peak_bytes_of({{"batch", "4"}});
  EXPECT_THAT(advice_for({{"batch", "8"}}, bytes), HasSubstr("it fits with --batch 4 or with --context "));
}

TEST(FitAdvice, KeepsASequenceForEachMicroBatch) {
  const int64_t bytes = peak_bytes_of({{"batch", "1"}});
  const std::string advice = advice_for({{"batch", "8"}, {"micro-batches", "8"}}, bytes);
  EXPECT_THAT(advice, HasSubstr("it fits with --context "));
  EXPECT_THAT(advice, Not(HasSubstr("--batch")));
  const int64_t four = peak_bytes_of({{"batch", "12"}, {"micro-batches", "4"}});
  EXPECT_THAT(advice_for({{"batch", "32"}, {"micro-batches", "4"}}, four), HasSubstr("it fits with --batch 12 "));
}

TEST(FitAdvice, SuggestsASmallerCropForACroppedStep) {
  const int64_t bytes = peak_bytes_of({{"edition", "gpt2"}, {"batch", "2"}, {"context", "40"}});
  const test::Options cropped{{"edition", "gpt2"}, {"batch", "2"}, {"crop-context", "48"}};
  EXPECT_THAT(advice_for(cropped, bytes), HasSubstr("it fits with --batch 1 or with --crop-context 4"));
}

}  // namespace
}  // namespace laptime
