// Texts and decisions that ranks agree on.
#include "comm/agreement.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/local_group.h"

namespace laptime::test {
namespace {

TEST(Agreement, BroadcastGivesEveryRankTheTextOfRank0) {
  run_ranks(4, [](LocalGroup& group) {
    const std::string own = group.rank() == 0 ? std::string(100'000, 'x') : "another";
    EXPECT_EQ(broadcast(group, own), std::string(100'000, 'x'));
    EXPECT_EQ(broadcast(group, group.rank() == 0 ? "" : "another"), "");
  });
}

TEST(Agreement, GathersTextsInRankOrder) {
  run_ranks(3, [](LocalGroup& group) {
    const std::vector<std::string> expected{"", "1", "22"};
    EXPECT_EQ(gather(group, std::string(static_cast<size_t>(group.rank()), static_cast<char>('0' + group.rank()))),
              expected);
  });
}

TEST(Agreement, LocalRankEqualsRankOnOneMachine) {
  run_ranks(3, [](LocalGroup& group) { EXPECT_EQ(local_rank(group), group.rank()); });
}

TEST(Agreement, RankZeroDecides) {
  run_ranks(3, [](LocalGroup& group) {
    EXPECT_TRUE(decide(group, group.rank() == 0));
    EXPECT_FALSE(decide(group, group.rank() != 0));
  });
}

}  // namespace
}  // namespace laptime::test
