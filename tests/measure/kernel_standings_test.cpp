// KernelStandings: the best kernel according to the times of all races.
#include "measure/kernel_standings.h"

#include <gtest/gtest.h>

namespace laptime {
namespace {

class KernelStandingsTest : public testing::Test {
 protected:
  void race_of_both(double a, double b) {
    standings_.add({&a_, &b_}, {.winner = a <= b ? size_t{0} : size_t{1},
                                .seconds = Seconds(std::min(a, b)),
                                .shortest = {Seconds(a), Seconds(b)}});
  }
  const Kernel* best() const { return standings_.best_of(std::vector<const Kernel*>{&a_, &b_}); }

  Kernel a_{.name = "a"}, b_{.name = "b"};
  KernelStandings standings_;
};

TEST_F(KernelStandingsTest, HasNoBestKernelWithoutARace) { EXPECT_EQ(best(), nullptr); }

TEST_F(KernelStandingsTest, ThreeNarrowLeadsOutweighAWiderOne) {
  race_of_both(1.03, 1.00);
  for (int race = 0; race < 3; ++race) race_of_both(1.00, 1.02);
  EXPECT_EQ(best(), &a_);
}

TEST_F(KernelStandingsTest, LongRacesCountMore) {
  for (int race = 0; race < 3; ++race) race_of_both(0.001, 0.002);
  race_of_both(1.02, 1.00);
  EXPECT_EQ(best(), &b_);
}

TEST_F(KernelStandingsTest, ComparesTimesRelativeToTheWinnerOfEachRace) {
  race_of_both(1.0, 1.1);
  Kernel c{.name = "c"};
  standings_.add({&a_, &c}, {.winner = 0, .seconds = Seconds(10), .shortest = {Seconds(10), Seconds(10.5)}});
  EXPECT_EQ(standings_.best_of(std::vector<const Kernel*>{&b_, &c}), &c);
}

TEST_F(KernelStandingsTest, KernelWithDifferentBitsNeedsAClearLead) {
  a_.reproducible = true;
  b_.reproducible = false;
  const std::vector<const Kernel*> both{&a_, &b_};
  race_of_both(1.04, 1.0);
  EXPECT_EQ(standings_.best_of(both), &b_);
  EXPECT_EQ(standings_.clear_best_of(both), &a_);
  race_of_both(1.5, 1.0);
  EXPECT_EQ(standings_.clear_best_of(both), &b_);
}

}  // namespace
}  // namespace laptime
