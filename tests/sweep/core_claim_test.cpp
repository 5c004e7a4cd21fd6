// Claims on the cores of a machine.
#include "sweep/claims.h"

#include <gtest/gtest.h>

#include <vector>

#include "support/fake_root.h"

namespace laptime {
namespace {

TEST(CoreClaim, IsExclusiveUntilReleased) {
  const FakeRoot folder;
  const auto file = folder.path() / "cores";
  const std::vector<int64_t> low{0, 1};
  const std::vector<int64_t> high{2, 3};
  const std::vector<int64_t> middle{1, 2};
  std::optional<CoreClaim> first = CoreClaim::take(low, file);
  ASSERT_TRUE(first);
  EXPECT_FALSE(CoreClaim::take(low, file));
  EXPECT_FALSE(CoreClaim::take(middle, file));
  const std::optional<CoreClaim> second = CoreClaim::take(high, file);  // the failed claims hold no cores
  EXPECT_TRUE(second);
  first.reset();
  EXPECT_TRUE(CoreClaim::take(low, file));
}

TEST(CoreClaim, AlwaysSucceedsIfFileCannotBeLocked) {
  const std::vector<int64_t> cores{0};
  const std::optional<CoreClaim> first = CoreClaim::take(cores, "/does/not/exist");
  EXPECT_TRUE(first);
  EXPECT_TRUE(CoreClaim::take(cores, "/does/not/exist"));
}

}  // namespace
}  // namespace laptime
