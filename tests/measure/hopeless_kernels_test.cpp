// Kernels that have clearly lost earlier races are excluded from later races.
#include "measure/kernel_standings.h"

#include <gtest/gtest.h>

namespace laptime {
namespace {

class HopelessKernelsTest : public testing::Test {
 protected:
  // A race of both kernels in which the slow one takes `ratio` times as long as the fast one.
  void race_with(double ratio, double flops) {
    hopeless_.add({&fast_, &slow_}, flops,
                  {.winner = 0, .seconds = Seconds(1), .shortest = {Seconds(1), Seconds(ratio)}});
  }
  bool slow_takes_part(double flops) {
    std::vector<const Kernel*> kernels{&fast_, &slow_};
    hopeless_.remove_from(kernels, flops);
    return kernels.size() == 2;
  }

  Kernel fast_{.name = "fast"}, slow_{.name = "slow"};
  HopelessKernels hopeless_;
};

TEST_F(HopelessKernelsTest, KeepsAKernelAfterOneLostRace) {
  race_with(10, 1e9);
  EXPECT_TRUE(slow_takes_part(1e9));
}

TEST_F(HopelessKernelsTest, DropsKernelAfterTwoClearLosses) {
  race_with(10, 1e9);
  race_with(1.3, 1e9);
  EXPECT_FALSE(slow_takes_part(2e9));
}

TEST_F(HopelessKernelsTest, KeepsAKernelThatOnceCameClose) {
  race_with(1.2, 1e9);
  race_with(10, 1e9);
  EXPECT_TRUE(slow_takes_part(2e9));
}

TEST_F(HopelessKernelsTest, DropsKernelAfterFourNarrowLosses) {
  for (int race = 0; race < 4; ++race) {
    EXPECT_TRUE(slow_takes_part(1e9));
    race_with(1.1, 1e9);
  }
  EXPECT_FALSE(slow_takes_part(1e9));
}

TEST_F(HopelessKernelsTest, SmallRacesDoNotDecideLargeShapes) {
  race_with(10, 1e9);
  race_with(10, 1e9);
  EXPECT_TRUE(slow_takes_part(20e9));
  EXPECT_FALSE(slow_takes_part(15e9));
  EXPECT_FALSE(slow_takes_part(200e9));
}

TEST_F(HopelessKernelsTest, NeverDropsLibraryKernels) {
  slow_.library = "cuBLASLt";
  for (int race = 0; race < 4; ++race) race_with(10, 1e9);
  EXPECT_TRUE(slow_takes_part(1e9));
}

TEST_F(HopelessKernelsTest, KeepsAllKernelsIfNoneWouldRemain) {
  race_with(10, 1e9);
  race_with(10, 1e9);
  std::vector<const Kernel*> kernels{&slow_};
  hopeless_.remove_from(kernels, 1e9);
  EXPECT_EQ(kernels, std::vector<const Kernel*>{&slow_});
}

}  // namespace
}  // namespace laptime
