// One attempt to run a point through a launcher. Shell commands act as the launcher.
#include "sweep/launched_point.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "sweep/child_messages.h"

namespace laptime {
namespace {

constexpr Seconds kPatience{60};
constexpr const char* kHello = "echo '{\"hello\": {\"device\": \"cpu\", \"binary\": \"id\", \"asked\": true}}'; ";

std::vector<std::string> shell(const std::string& command) { return {"sh", "-c", command}; }

void run_to_end(LaunchedPoint& point, const LaunchedPoint::Answers& answers = {}) {
  while (!point.is_over()) {
    std::vector<pollfd> polled;
    point.add_to(polled);
    poll(polled.data(), polled.size(), 1000);
    point.look(answers);
  }
}

std::string quoted_result() {
  PointResult result;
  result.record.name = "step";
  result.record.reason = "from the other machine";
  return "'" + message_text(result) + "'";
}

TEST(LaunchedPoint, SendsMachineKnowledgeAndReadsTheResult) {
  LaunchedPoint point(shell("read line; test \"$line\" = request || exit 3; " + std::string(kHello) +
                            "read line; test \"$line\" = known || exit 4; echo welcome; printf %s " + quoted_result()),
                      "request\n", kPatience);
  std::string device;
  run_to_end(point, {.known =
                         [&](const PointHello& hello) {
                           device = hello.device;
                           return std::string("known\n");
                         },
                     .progress = {}});
  EXPECT_EQ(device, "cpu");
  ASSERT_TRUE(point.result());
  EXPECT_EQ(point.result()->record.reason, "from the other machine");
  EXPECT_EQ(point.other_output(), "welcome\n");
  EXPECT_EQ(point.exit_code(), 0);
  EXPECT_GT(point.placement().count(), 0);
}

TEST(LaunchedPoint, StatesHowAPointWasLost) {
  LaunchedPoint before(shell("echo no route >&2; echo to host >&2; exit 9"), "", kPatience);
  run_to_end(before);
  EXPECT_FALSE(before.result());
  EXPECT_EQ(before.loss(), "the launcher ended with exit code 9 before the point began");
  EXPECT_EQ(before.last_error(), "to host");

  LaunchedPoint after(
      shell(std::string(kHello) + "echo '{\"progress\": {\"stage\": \"steps\", \"done\": 3, \"expected\": 9, "
                                  "\"step_seconds\": 0.1}}'; kill -9 $$"),
      "", kPatience);
  run_to_end(after);
  EXPECT_EQ(after.loss(), "the launcher ended with exit code 137 after step 3");
  EXPECT_EQ(after.last_error(), "");
}

TEST(LaunchedPoint, ClosingTheInputEndsAWaitingLauncher) {
  LaunchedPoint point(shell("cat >/dev/null; exit 5"), "", kPatience);  // exits at the end of its input
  point.end();
  run_to_end(point);
  EXPECT_FALSE(point.hello());
}

TEST(LaunchedPoint, RejectsALauncherThatCannotBeRun) {
  EXPECT_THROW(LaunchedPoint({"/no/such/launcher"}, "", kPatience), Error);
}

}  // namespace
}  // namespace laptime
