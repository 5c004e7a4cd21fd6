// The time reported for a pass: one phase, or the whole step.
#include "measure/reported_time.h"

#include <gtest/gtest.h>

#include "prepare/prepare.h"
#include "support/points.h"

namespace laptime {
namespace {

TEST(ReportedTime, IsThePhaseOfThePassOrTheWholeStep) {
  const auto reported = [](const char* pass) {
    const RunConfig config = test::point_of({{"d-model", "32"},
                                             {"num-layers", "1"},
                                             {"num-heads", "2"},
                                             {"vocab", "64"},
                                             {"context", "16"},
                                             {"batch", "2"},
                                             {"device", "roofline:h100"},
                                             {"pass", pass}})
                                 .config;
    Timeline timeline;
    timeline.end = Seconds(10);
    timeline.events = {{static_cast<int>(Phase::kForward), Seconds(0), Seconds(1)},
                       {static_cast<int>(Phase::kBackward), Seconds(1), Seconds(3)}};
    return reported_time(prepare(config, find_device(config), {}).plan, config.pass)(timeline).count();
  };
  EXPECT_EQ(reported("backward"), 2);
  EXPECT_EQ(reported("forward"), 1);
  EXPECT_EQ(reported("inference"), 1);
  EXPECT_EQ(reported("forward_backward"), 10);
  EXPECT_EQ(reported("step"), 10);
}

}  // namespace
}  // namespace laptime
