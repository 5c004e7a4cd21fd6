// How a peak grows with the context, told from the buffers of two traces.
#include "analysis/memory_growth.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "report/page_inputs.h"

namespace laptime {
namespace {

using testing::HasSubstr;

// A step at a context: parameters, an activation in proportion to it, and scores that grow with its square.
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

TEST(MemoryGrowth, BuffersAreSortedByThePowerOfTheContext) {
  const std::optional<MemoryGrowth> growth = memory_growth(trace_at(256), 256, trace_at(1024), 1024);
  ASSERT_TRUE(growth);
  EXPECT_EQ(growth->constant, 1 << 18);
  EXPECT_EQ(growth->linear, 1024 * 1024);
  EXPECT_EQ(growth->square, 16 * 1024 * 1024);
  EXPECT_EQ(growth->square_op, "softmax");
}

TEST(MemoryGrowth, StepsOfOtherKernelsAreNotCompared) {
  EXPECT_FALSE(memory_growth(trace_at(256, "attention"), 256, trace_at(1024), 1024));
}

TEST(MemoryGrowth, ThePageSaysHowThePeakGrows) {
  PageInput input = two_points();
  for (size_t i = 0; i < 2; ++i) {
    const int64_t context = i == 0 ? 256 : 1024;
    Record& record = input.records[i];
    record = two_points().records[0];
    record.name = fmt::format("step/model:small/ctx:{}/dtype:float32/mode:eager", context);
    record.config.json()["context_length"] = context;
    record.flops.forward = static_cast<double>(context);
    input.traces[i] = trace_at(context);
  }
  const std::string sentence =
      "The peak grows from 1.500 MiB at context 256 to 17.25 MiB at context 1024. At context 1024 16.00 MiB (93 %) "
      "grows with the square of the context, most of it written by softmax, 1.000 MiB (6 %) in proportion to it, "
      "and 256.0 KiB (1 %) does not grow.";
  const Json section = section_of(input, "memory");
  const auto figure = std::find_if(section["figures"].begin(), section["figures"].end(), [](const Json& one) {
    return one["title"] == "Peak memory against context length";
  });
  ASSERT_NE(figure, section["figures"].end());
  EXPECT_EQ((*figure)["reading"], sentence);
  EXPECT_TRUE((*figure)["chart"]["logarithmic"].get<bool>());
  EXPECT_FALSE((*(figure + 2))["chart"]["logarithmic"].get<bool>());  // of the parts, some of which are small
  const Json& table = *(figure + 1);
  EXPECT_THAT(table["reading"].get<std::string>(), HasSubstr("16.00 MiB of 17.25 MiB at context 1024"));
  EXPECT_EQ(table["table"]["rows"][0][5], 16 << 20);
  EXPECT_THAT(Json::parse(page_data(input))["conclusion"].dump(), HasSubstr("grows with the square of the context"));
}

}  // namespace
}  // namespace laptime
