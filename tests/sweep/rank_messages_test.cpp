// Requests to ranks, results of ranks that were already running, and reasons why ranks ended.
#include "sweep/rank_messages.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/error.h"
#include "points/expand.h"
#include "support/points.h"
#include "sweep/child_messages.h"
#include "sweep/pipe.h"
#include "sweep/ranks.h"

namespace laptime {
namespace {

TEST(RankRequest, RoundTrips) {
  Sweep sweep;
  for (const auto& [flag, text] : std::vector<std::pair<std::string, std::string>>{{"model", "small"},
                                                                                   {"batch", "8"},
                                                                                   {"ranks", "4"},
                                                                                   {"shard", "gradients"},
                                                                                   {"lr", "0.0003"},
                                                                                   {"steps", "7"},
                                                                                   {"warmup", "2"},
                                                                                   {"clip-norm", "0.1"},
                                                                                   {"mode", "compile"},
                                                                                   {"dtype", "bfloat16"}}) {
    set_option(sweep, flag, "--" + flag, {text});
  }
  RankRequest request;
  request.point = expand(sweep).front();
  request.described.name = request.point.name;
  request.described.config_hash = "0123456789abcdef";
  request.known.kernel_choices = {{"machine", "matmul(float32 [2, 2])", "tiles", 0.25, "2025-01-02T03:04:05Z"}};
  request.trace = {.wanted = true, .traced_steps = 3};
  const std::string line = message_text(request);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  const RankRequest read = parse_rank_request(line);
  EXPECT_EQ(read.point.config, request.point.config);
  EXPECT_EQ(read.point.name, request.point.name);
  EXPECT_EQ(read.described, request.described);
  EXPECT_EQ(read.known.kernel_choices, request.known.kernel_choices);
  EXPECT_TRUE(read.trace.wanted);
  EXPECT_EQ(read.trace.traced_steps, 3);
}

TEST(RankRequest, RejectsTextThatIsNotARequest) {
  for (const char* text : {"", "{", "[]", "{}", R"({"name": 3})"})
    EXPECT_THROW(parse_rank_request(text), Error) << text;
}

// A point with two ranks. Pipes stand in for a rank 0 that is already running.
class StartedRanks : public testing::Test {
 protected:
  // The result of the point after rank 0 has sent `messages`.
  PointResult result_after(const std::string& messages, const ResolvedPoint& point, const PointHooks& hooks = {}) {
    send_text(messages_.writing(), messages);
    messages_.close_writing();
    return run_ranks(point, {}, hooks, {}, described_,
                     {.requests = requests_.writing(), .messages = messages_.reading()});
  }

  static ResolvedPoint point_with(const test::Options& more) {
    return test::point_of({{"d-model", "16"},
                           {"d-ff", "16"},
                           {"num-layers", "1"},
                           {"num-heads", "1"},
                           {"vocab", "16"},
                           {"context", "8"},
                           {"device", "cpu"},
                           {"threads", "1"},
                           {"oversubscribe", "true"},
                           {"ranks", "2"}},
                          more);
  }

  static Record record_of(const std::string& name, const std::string& created) {
    Record record;
    record.name = name;
    record.created = created;
    return record;
  }

  Record described_ = record_of("step/batch:4", "2026-01-01T00:00:02Z");
  Pipe requests_, messages_;
};

TEST_F(StartedRanks, IgnoreMessagesOfAnEarlierPoint) {
  // The end of a message whose beginning the earlier point has read, and then messages that it has not read.
  std::string messages = "tail\n" + message_text(PointProgress{.stage = "earlier"});
  for (const Record& earlier :
       {record_of("step/batch:2", "2026-01-01T00:00:02Z"), record_of("step/batch:4", "2026-01-01T00:00:01Z")})
    messages += message_text(earlier) + message_text(PointProgress{.stage = "earlier"}) +
                message_text(PointResult{earlier, {}, {}});
  PointResult own{described_, {}, {}};
  own.record.reason = "its own";
  messages += message_text(described_) + message_text(PointProgress{.stage = "own"}) + message_text(own);
  std::vector<std::string> stages;
  PointHooks hooks;
  hooks.progress = [&](const PointProgress& progress) { stages.push_back(progress.stage); };
  hooks.planned = [&](const Record& planned) { EXPECT_EQ(planned, described_); };
  const PointResult result = result_after(messages, point_with({{"batch", "4"}}), hooks);
  EXPECT_EQ(result.record.name, "step/batch:4");
  EXPECT_EQ(result.record.reason, "its own");
  EXPECT_EQ(stages, std::vector<std::string>{"own"});
  EXPECT_TRUE(has_input(requests_.reading()));
}

TEST_F(StartedRanks, AreNotAskedToRunAPointThatDoesNotFit) {
  const PointResult result =
      result_after("", point_with({{"batch", "4"}, {"memory-limit", "1KiB"}, {"recompute", "none"}}));
  EXPECT_EQ(result.record.status, Status::kOutOfMemory) << result.record.reason;
  EXPECT_EQ(result.record.reason.find("predicted:"), 0U) << result.record.reason;
  EXPECT_EQ(result.record.bytes_available, 1024);
  EXPECT_GT(result.record.bytes_requested.value_or(0), 1024);
  EXPECT_TRUE(result.record.memory.predicted_peak_bytes);
  EXPECT_FALSE(has_input(requests_.reading()));
}

TEST_F(StartedRanks, ReportThatMpirunIsMissing) {
  const std::string path = std::getenv("PATH");
  setenv("PATH", "/nowhere", 1);
  const PointResult result = run_ranks(point_with({}), {}, {}, {}, described_);
  setenv("PATH", path.c_str(), 1);
  EXPECT_EQ(result.record.status, Status::kFailed);
  EXPECT_EQ(result.record.reason,
            "'mpirun' cannot be run (No such file or directory); install openmpi-bin (Debian, Ubuntu)");
}

TEST(Ranks, ReasonNamesTheRankAndItsSignal) {
  EXPECT_EQ(reason_of_ranks("--------\nmpirun noticed that process rank 1 with PID 0 on node here exited on signal 9 "
                            "(Killed).\n--------\n",
                            137),
            "rank 1 was ended by signal 9 (Killed)");
  EXPECT_EQ(reason_of_ranks("noise\nlaptime: rank failure: rank 1 of 2 has been silent for 6 s\nmore noise\n", 1),
            "rank 1 of 2 has been silent for 6 s");
  EXPECT_EQ(reason_of_ranks("", 127), "mpirun ended without a result, exit code 127");
  EXPECT_EQ(reason_of_ranks("-----\n  No slots.\n", 1), "mpirun ended without a result, exit code 1:   No slots.");
}

TEST(Ranks, PassesAllowRunAsRootOnlyForRoot) {
  const std::vector<std::string> words = mpirun_words("/bin/laptime", 4, /*is_root=*/true);
  EXPECT_EQ(words.front(), "mpirun");
  EXPECT_NE(std::find(words.begin(), words.end(), "--allow-run-as-root"), words.end());
  EXPECT_EQ(words.back(), kRankWord);
  const std::vector<std::string> of_user = mpirun_words("/bin/laptime", 4, /*is_root=*/false);
  EXPECT_EQ(std::find(of_user.begin(), of_user.end(), "--allow-run-as-root"), of_user.end());
}

}  // namespace
}  // namespace laptime
