// The signs of a disturbed run: lost time, samples that vary, and traced steps that take longer than untraced ones.
#include "measure/make_record.h"

#include <gtest/gtest.h>

#include <vector>

namespace laptime {
namespace {

// Ten steps of one second each. In each step, the threads lose `lost_per_step` seconds in total, counted in `counter`.
Measurement steps_with(std::optional<double> MachineState::*counter, double lost_per_step) {
  Measurement run;
  run.before.*counter = 5.0;
  for (int i = 0; i < 10; ++i) {
    Timeline step;
    step.begin = Seconds{static_cast<double>(i)};
    step.end = Seconds{static_cast<double>(i) + 1};
    run.sampling.steps.push_back(step);
    run.states.emplace_back().*counter = 5.0 + lost_per_step * (i + 1);
  }
  return run;
}

TEST(DisturbedRun, StatesLostTime) {
  const std::vector<double> samples(10, 1.0);
  const auto text = [&](std::optional<double> MachineState::*counter, double lost) {
    return disturbance_of(steps_with(counter, lost), samples, std::nullopt, 2);
  };
  EXPECT_EQ(text(&MachineState::stolen_seconds, 0.24), "12 % of the time was lost to other guests of the host");
  EXPECT_EQ(text(&MachineState::throttled_seconds, 0.2), "10 % of the time was lost to a CPU quota");
  EXPECT_EQ(text(&MachineState::waiting_seconds, 0.1), "5 % of the time was lost waiting for a core");
  EXPECT_EQ(text(&MachineState::waiting_seconds, 0.04), "");  // 2 % of the time is below the limit
  EXPECT_EQ(disturbance_of(steps_with(&MachineState::stolen_seconds, 0.24), samples, std::nullopt, std::nullopt), "");
}

TEST(DisturbedRun, CountsPausesBetweenSteps) {
  Measurement run = steps_with(&MachineState::stolen_seconds, 0.3);
  for (Timeline& step : run.sampling.steps) {  // half of the time passes before the step, half in it
    step.begin *= 2;
    step.end *= 2;
    step.begin += Seconds{1};
  }
  run.sampling.warmup = 5;
  EXPECT_EQ(disturbance_of(run, std::vector<double>(5, 1.0), std::nullopt, 1),
            "15 % of the time was lost to other guests of the host");
}

TEST(DisturbedRun, DividesLostTimeAmongTheThreadsOfAllRanks) {
  const std::vector<double> samples(10, 1.0);
  const auto text = [&](std::optional<double> MachineState::*counter, double lost, int64_t cores) {
    Measurement run = steps_with(counter, lost);
    run.cores = cores;
    return disturbance_of(run, samples, std::nullopt, 2, 4);
  };
  EXPECT_EQ(text(&MachineState::stolen_seconds, 0.8, 0), "10 % of the time was lost to other guests of the host");
  EXPECT_EQ(text(&MachineState::throttled_seconds, 0.8, 16), "10 % of the time was lost to a CPU quota");
  EXPECT_EQ(text(&MachineState::throttled_seconds, 0.8, 4), "20 % of the time was lost to a CPU quota");
  EXPECT_EQ(text(&MachineState::waiting_seconds, 0.2, 16), "10 % of the time was lost waiting for a core");
}

TEST(DisturbedRun, IgnoresStolenTimeInAShortRun) {
  Measurement run = steps_with(&MachineState::stolen_seconds, 0.001);
  for (Timeline& step : run.sampling.steps) {
    step.begin *= 1e-3;
    step.end *= 1e-3;
  }
  EXPECT_EQ(disturbance_of(run, std::vector<double>(10, 1e-3), std::nullopt, 2), "");
}

TEST(DisturbedRun, StatesSpreadAboveTheLimit) {
  const Measurement quiet = steps_with(&MachineState::waiting_seconds, 0);
  EXPECT_EQ(disturbance_of(quiet, {1, 1, 1, 1, 1, 1, 1, 2}, std::nullopt, 2),
            "steps varied by 31 % (standard deviation)");
  EXPECT_EQ(disturbance_of(quiet, {1, 2}, std::nullopt, 2), "");  // two samples are too few to judge the spread
}

TEST(DisturbedRun, StatesThatTracedStepsTookLonger) {
  StepTrace trace;
  trace.mark = 0;
  trace.untraced = {1, 1, 1};
  for (const double seconds : {1.2, 1.3}) trace.steps.emplace_back().total = seconds;
  const Measurement quiet = steps_with(&MachineState::waiting_seconds, 0);
  const std::vector<double> samples(10, 1.0);
  EXPECT_EQ(disturbance_of(quiet, samples, trace, 2),
            "traced steps took 1.25 times as long as the untraced steps between them");
  trace.untraced = {1.25, 1.25, 1.25};
  EXPECT_EQ(disturbance_of(quiet, samples, trace, 2), "");
  trace.untraced = {1, 1, 1};
  trace.mark.reset();  // no marks, because the device itself recorded the launches
  EXPECT_EQ(disturbance_of(quiet, samples, trace, 2), "");
}

}  // namespace
}  // namespace laptime
