// Attributes: printing and the type check on access.
#include "graph/attributes.h"

#include <gtest/gtest.h>

#include "graph/structural_ops.h"
#include "ops/pointwise/pointwise.h"

namespace laptime {
namespace {

TEST(Attributes, PrintTheirFields) {
  EXPECT_EQ(Attributes().text(), "");
  EXPECT_EQ(Attributes(SliceAttributes{1, 2, 3, 4}).text(), "axis=1 begin=2 size=3 step=4");
  EXPECT_EQ(Attributes(ReshapeAttributes{{2, 3}}).text(), "shape=[2, 3]");
  // Adjacent doubles need different texts, because texts are keys of constants and of kernel choices.
  EXPECT_EQ(Attributes(ScalarAttributes{2.0000000000000004}).text(), "value=2.0000000000000004");
}

TEST(AttributesDeath, WrongTypeAborts) {
  const Attributes two(ScalarAttributes{2});
  EXPECT_EQ(two.as<ScalarAttributes>().value, 2);
  EXPECT_DEATH(two.as<SliceAttributes>(), "attributes of another type: value=2");
  EXPECT_DEATH(Attributes().as<SliceAttributes>(), "attributes of another type");
}

}  // namespace
}  // namespace laptime
