// The order of steps in several queues, and the resulting live ranges.
#include "plan/step_order.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "graph/builder.h"
#include "ops/pointwise/pointwise.h"
#include "plan/any_kernel.h"
#include "support/types.h"

namespace laptime::test {
namespace {

PlanStep in_queue(int queue, std::vector<int> waits = {}) {
  PlanStep step;
  step.queue = queue;
  step.waits = std::move(waits);
  return step;
}

TEST(StepOrder, OneQueueRunsStepsInOrder) {
  const std::vector<PlanStep> steps{in_queue(0), in_queue(0), in_queue(0)};
  const StepOrder order(steps);
  EXPECT_EQ(order.queues(), 1);
  EXPECT_TRUE(order.is_done(0, 1));
  EXPECT_FALSE(order.is_done(1, 1));
  const std::vector<int> uses{0, 1};
  EXPECT_EQ(order.last_concurrent(uses), 1);
}

TEST(StepOrder, QueuesAreOrderedOnlyByWaits) {
  // Queue 0 has steps 0, 2, 3 and 5, queue 1 has 1 and 4. Step 1 waits for 0, and 5 waits for 4.
  const std::vector<PlanStep> steps{in_queue(0), in_queue(1, {0}), in_queue(0),
                                    in_queue(0), in_queue(1),      in_queue(0, {4})};
  const StepOrder order(steps);
  EXPECT_EQ(order.queues(), 2);
  EXPECT_TRUE(order.is_done(0, 1));
  EXPECT_FALSE(order.is_done(1, 2));
  EXPECT_FALSE(order.is_done(1, 3));
  EXPECT_TRUE(order.is_done(1, 5)) << "4 follows 1 in its queue, and 5 waits for 4";
  EXPECT_FALSE(order.is_done(2, 4));
  const std::vector<int> use{1};
  EXPECT_EQ(order.last_concurrent(use), 3);
  const std::vector<int> both{1, 2};
  EXPECT_EQ(order.last_concurrent(both), 4);
}

// Compares with a search from the last step, which takes too long for the thousands of buffers of a large step.
TEST(StepOrder, FindsTheLastConcurrentStepOfRandomUses) {
  for (uint64_t round = 0; round < 100; ++round) {
    uint64_t state = round * 1000;
    const auto below = [&](uint64_t bound) { return static_cast<int>(splitmix64(++state) % bound); };
    std::vector<PlanStep> steps;
    for (uint64_t i = 0; i < 40; ++i)
      steps.push_back(in_queue(below(3), i > 0 && below(4) == 0 ? std::vector<int>{below(i)} : std::vector<int>{}));
    const StepOrder order(steps);
    const std::vector<int> uses{below(40), below(40)};
    int last = 39;
    const auto is_after = [&](int use) { return order.is_done(use, last); };
    while (last > std::max(uses[0], uses[1]) && is_after(uses[0]) && is_after(uses[1])) --last;
    EXPECT_EQ(order.last_concurrent(uses), last) << round;
  }
}

// Represents a copy to another device.
const OpCard kSend = {
    .name = "send",
    .kind = OpKind::kCommunication,
    .infer = [](const Attributes&, std::span<const TensorType> in) -> std::vector<TensorType> { return {in[0]}; }};

bool overlap(const Buffer& a, const Buffer& b) {
  return a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

TEST(Plan, BuffersStayAliveWhileAnotherQueueReadsThem) {
  constexpr int64_t kSize = 1024;
  const auto plan_of = [&](bool communicates) {
    Builder build;
    const ValueId x = build.source("x", floats({kSize}), Role::kInput);
    const ValueId a = exp(build, x);
    const ValueId sent = communicates ? build.emit_one(kSend, {}, {a}) : neg(build, a);
    ValueId y = x;
    for (int i = 0; i < 4; ++i) y = exp(build, y);  // overlaps with the communication
    build.output("sum", add(build, y, sent));
    return make_plan(build.finish(), any_kernel);
  };
  const Plan one = plan_of(false);
  for (const PlanStep& step : one.steps) EXPECT_EQ(step.queue, 0);

  const Plan two = plan_of(true);
  ASSERT_EQ(two.steps.size(), 7U);
  EXPECT_EQ(two.steps[1].queue, 1);
  EXPECT_EQ(two.steps[1].waits, std::vector<int>{0});
  EXPECT_EQ(two.steps[6].waits, std::vector<int>{1}) << "the sum reads the result of send";
  EXPECT_GT(two.arena_bytes, one.arena_bytes);
  const Buffer& read = two.buffers[static_cast<size_t>(two.steps[1].in[0].buffer)];
  for (size_t step = 2; step < 6; ++step) {
    const Buffer& made = two.buffers[static_cast<size_t>(two.steps[step].out[0].buffer)];
    EXPECT_FALSE(overlap(read, made)) << "step " << step << " writes bytes that the other queue may still read";
  }
}

// A pool frees buffers in the order of the computation queue. A buffer that a communication reads is therefore freed
// only after that queue has waited for the communication.
TEST(Plan, CommunicationBuffersAreFreedAtTheNextWait) {
  Builder build;
  const ValueId x = build.source("x", floats({1024}), Role::kInput);
  const ValueId a = exp(build, x);
  const ValueId sent = build.emit_one(kSend, {}, {a});
  const ValueId sent_later = build.emit_one(kSend, {}, {exp(build, x)});
  build.output("sum", add(build, sent, sent_later));
  const Plan plan = make_plan(build.finish(), any_kernel);
  ASSERT_EQ(plan.steps.size(), 5U);
  ASSERT_EQ(plan.steps[3].queue, kCommunicationQueue);
  ASSERT_EQ(plan.steps[4].waits, (std::vector<int>{1, 3}));
  const int read = plan.steps[1].in[0].buffer;
  int steps_before = 0;
  for (const Action& action : plan.actions) {
    if (action.kind == Action::Kind::kFree && action.index == read) break;
    steps_before += action.kind == Action::Kind::kStep ? 1 : 0;
  }
  EXPECT_EQ(steps_before, 4);
}

}  // namespace
}  // namespace laptime::test
