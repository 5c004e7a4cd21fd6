// Requests to ranks, and reasons why ranks ended.
#include "sweep/rank_messages.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "points/expand.h"
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

TEST(Ranks, ReasonNamesTheRankAndItsSignal) {
  EXPECT_EQ(reason_of_ranks("--------\nmpirun noticed that process rank 1 with PID 0 on node here exited on signal 9 "
                            "(Killed).\n--------\n",
                            137),
            "rank 1 was ended by signal 9 (Killed)");
  EXPECT_EQ(reason_of_ranks("noise\nlaptime: rank failure: rank 1 of 2 has been silent for 6 s\nmore noise\n", 1),
            "rank 1 of 2 has been silent for 6 s");
  EXPECT_EQ(reason_of_ranks("", 127), "mpirun is not installed; install openmpi-bin (Debian, Ubuntu)");
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
