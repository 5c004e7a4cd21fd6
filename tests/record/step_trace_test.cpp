// check() rejects traces that readers could not handle.
#include "record/step_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/error_of.h"

namespace laptime {
namespace {

using testing::HasSubstr;

// Two launches and one buffer, with every text empty.
StepTrace small_trace() {
  StepTrace trace;
  trace.texts = {""};
  TraceLaunches::visit_fields(trace.launches, [](const Key&, auto& column) { column.resize(2); });
  TraceBuffers::visit_fields(trace.buffers, [](const Key&, auto& column) { column.resize(1); });
  trace.steps = {{.launches = {1, 1}, .communication = {-1, 1}}};
  return trace;
}

template <class Damage>
std::string error_after(const Damage& damage) {
  StepTrace trace = small_trace();
  damage(trace);
  return test::error_of([&] { check(trace); });
}

TEST(StepTrace, AcceptsValidTraces) {
  EXPECT_NO_THROW(check(StepTrace()));
  EXPECT_NO_THROW(check(small_trace()));
  StepTrace only_resident;  // a step without launches
  only_resident.texts = {""};
  TraceBuffers::visit_fields(only_resident.buffers, [](const Key&, auto& column) { column.resize(1); });
  only_resident.buffers.resident = {1};
  EXPECT_NO_THROW(check(only_resident));
  only_resident.buffers.resident = {0};
  EXPECT_THROW(check(only_resident), Error);
}

TEST(StepTrace, RejectsIndicesOfMissingLaunches) {
  EXPECT_THAT(error_after([](StepTrace& trace) { trace.buffers.first = {2}; }),
              HasSubstr("buffers.first contains 2, which is not in [0, 2)"));
  EXPECT_THAT(error_after([](StepTrace& trace) {
                trace.buffers.resident = {1};
                trace.buffers.first = {1};
              }),
              HasSubstr("buffers.first contains 1, which is not in [0, 1)"));
  EXPECT_EQ(error_after([](StepTrace& trace) { trace.buffers.last = {2}; }), "");  // the buffer outlives the step
  EXPECT_THAT(error_after([](StepTrace& trace) { trace.buffers.last = {3}; }), HasSubstr("buffers.last contains 3"));
  EXPECT_THAT(error_after([](StepTrace& trace) { trace.peak_launch = 2; }),
              HasSubstr("trace.peak_launch contains 2, which is not in [0, 2)"));
}

TEST(StepTrace, RejectsNumbersWhoseSumOverflows) {
  constexpr int64_t kHalf = int64_t{1} << 61;
  EXPECT_THAT(error_after([](StepTrace& trace) {
                trace.steps[0].launches = {kHalf, kHalf};
              }),
              HasSubstr("steps.launches contains 2305843009213693952"));
  EXPECT_THAT(error_after([](StepTrace& trace) { trace.buffers.bytes = {2 * kHalf}; }),
              HasSubstr("buffers.bytes contains 4611686018427387904"));
}

TEST(StepTrace, RejectsMissingOrImpossibleTimes) {
  EXPECT_THAT(error_after([](StepTrace& trace) { trace.steps[0].launches.pop_back(); }),
              HasSubstr("steps.launches has 1 entries; expected 2"));
  EXPECT_THAT(error_after([](StepTrace& trace) { trace.steps[0].communication.push_back(3); }),
              HasSubstr("steps.communication has 3 entries; expected 2"));
  EXPECT_THAT(error_after([](StepTrace& trace) { trace.steps[0].communication[0] = INT64_MIN; }),
              HasSubstr("steps.communication contains -9223372036854775808"));
}

}  // namespace
}  // namespace laptime
