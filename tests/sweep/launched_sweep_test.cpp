// Sweeps through a launcher. Shell scripts act as the launcher and as the program that it starts.
#include "sweep/launched_sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/host_clock.h"
#include "measure/describe.h"
#include "support/points.h"
#include "sweep/child_messages.h"
#include "sweep/launch_messages.h"
#include "sweep/run_sweep.h"

namespace laptime {
namespace {

namespace fs = std::filesystem;

class LaunchedSweep : public testing::Test {
 protected:
  // A launcher may end before it has read its input. The program ignores SIGPIPE, too (set_up_signals).
  LaunchedSweep() { std::signal(SIGPIPE, SIG_IGN); }
  ~LaunchedSweep() override {
    std::signal(SIGPIPE, SIG_DFL);
    fs::remove_all(folder_);
  }

  std::string script(const std::string& name, const std::string& commands) const {
    fs::create_directories(folder_);
    std::ofstream(folder_ / name) << "#!/bin/sh\ncd " << folder_.string() << '\n' << commands;
    fs::permissions(folder_ / name, fs::perms::owner_all);
    return (folder_ / name).string();
  }

  fs::path folder_ = fs::path(testing::TempDir()) / ("laptime_launched_" + std::to_string(getpid()));
  std::string launcher_ = script("launcher", "exec \"$@\"\n");
};

// The first point is lost and waits for its second attempt. The launcher vanishes while the second point runs.
TEST_F(LaunchedSweep, ReportsTheResultsThatArrivedBeforeTheLauncherFailed) {
  std::ofstream(folder_ / "hello") << message_text(PointHello{.device = {}, .binary = this_binary().id});
  PointResult result;
  result.record.name = "step";
  std::ofstream(folder_ / "result") << message_text(result);
  const std::string program = script("program",
                                     "read request\ncat hello\n"
                                     "case $request in *probe*) exit;; *ctx:8/*) exit 9;; esac\n"
                                     "read known\nrm launcher\ncat result\n");
  std::vector<size_t> finished;
  SweepCallbacks callbacks;
  callbacks.finished = [&](size_t index, const PointResult&, PointSource, Seconds) { finished.push_back(index); };
  const std::vector<ResolvedPoint> points =
      unplaced({test::point_of({{"context", "8"}}), test::point_of({{"context", "16"}})});
  const SweepOutcome outcome =
      run_sweep(points, {.store = std::nullopt, .name = "", .launcher = Launcher{{launcher_}, program}}, callbacks);
  EXPECT_TRUE(outcome.ended_by);
  EXPECT_THAT(finished, testing::ElementsAre(1));
}

// Each of the five processes takes two seconds to end.
TEST_F(LaunchedSweep, SlowEndsAllPointsConcurrentlyAfterAnError) {
  const std::string program = script("program", "trap 'sleep 2; exit' TERM\nsleep 100 & wait\n");
  LaunchCallbacks callbacks;
  callbacks.request = [](size_t) { return request_of(test::point_of({})); };
  callbacks.timeout = [](size_t) { return Seconds{100}; };
  Seconds failed{};
  callbacks.begin = [&](size_t index) {
    if (index < 4) return;
    usleep(500'000);  // time for the processes to set their traps
    failed = host_now();
    throw std::runtime_error("no output");
  };
  StopSignals signals;
  EXPECT_THROW(run_launched({{launcher_}, program, 5}, {0, 1, 2, 3, 4}, signals, callbacks), std::runtime_error);
  EXPECT_LT((host_now() - failed).count(), 8);
}

}  // namespace
}  // namespace laptime
