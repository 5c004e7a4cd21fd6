// Hazards: the earlier launches that a launch must wait for.
#include "backend/hazards.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "support/types.h"

namespace laptime::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class HazardsTest : public testing::Test {
 protected:
  // The floats [begin, begin + count) of one block of memory.
  TensorView part(int64_t begin, int64_t count) {
    TensorView view{memory_.data(), floats({count})};
    view.type.layout.offset = begin;
    return view;
  }
  const std::vector<size_t>& add(const std::vector<TensorView>& in, const std::vector<TensorView>& out) {
    return hazards_.add({.in = in, .out = out});
  }

  std::array<std::byte, 400> memory_{};
  Hazards hazards_;
};

TEST_F(HazardsTest, ReadersWaitForTheLastWriter) {
  EXPECT_THAT(add({}, {part(0, 10)}), IsEmpty());
  EXPECT_THAT(add({}, {part(10, 10)}), IsEmpty());
  EXPECT_THAT(add({part(0, 10)}, {part(20, 10)}), ElementsAre(0));
  EXPECT_THAT(add({part(0, 10)}, {part(30, 10)}), ElementsAre(0));
  EXPECT_THAT(add({part(5, 10)}, {part(40, 10)}), ElementsAre(0, 1));
}

TEST_F(HazardsTest, WritersWaitForReadersAndWriters) {
  add({}, {part(0, 10)});
  add({part(0, 10)}, {part(10, 10)});
  add({part(0, 5)}, {part(20, 10)});
  EXPECT_THAT(add({}, {part(0, 10)}), ElementsAre(0, 1, 2));
  EXPECT_THAT(add({part(2, 2)}, {part(30, 10)}), ElementsAre(3))
      << "launch 3 has overwritten all bytes that launch 0 wrote";
}

TEST_F(HazardsTest, ReadersWaitForPartlyOverwrittenWrites) {
  add({}, {part(0, 10)});
  EXPECT_THAT(add({}, {part(0, 4)}), ElementsAre(0));
  EXPECT_THAT(add({part(6, 2)}, {part(20, 1)}), ElementsAre(0));
}

TEST_F(HazardsTest, LaunchInPlaceDoesNotWaitForItself) {
  EXPECT_THAT(add({part(0, 10)}, {part(0, 10)}), IsEmpty());
  EXPECT_THAT(add({part(0, 10)}, {part(0, 10)}), ElementsAre(0));
}

TEST_F(HazardsTest, WorkspacesCountAsWritten) {
  hazards_.add({.in = {}, .out = {}, .workspace = memory_.data(), .workspace_bytes = 8});
  EXPECT_THAT(add({}, {part(2, 10)}), IsEmpty());
  EXPECT_THAT(hazards_.add({.in = {}, .out = {}, .workspace = memory_.data() + 4, .workspace_bytes = 8}),
              ElementsAre(0, 1));
}

TEST_F(HazardsTest, AbsentOperandsCauseNoWaits) {
  EXPECT_THAT(add({{nullptr, floats({10})}}, {{nullptr, floats({10})}}), IsEmpty());
  EXPECT_THAT(add({{nullptr, floats({10})}}, {{nullptr, floats({10})}}), IsEmpty());
}

TEST_F(HazardsTest, ClearForgetsEarlierLaunches) {
  add({}, {part(0, 10)});
  hazards_.clear();
  EXPECT_THAT(add({}, {part(0, 10)}), IsEmpty());
  EXPECT_THAT(add({}, {part(0, 10)}), ElementsAre(0));
}

}  // namespace
}  // namespace laptime::test
