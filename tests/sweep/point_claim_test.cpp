// Claims: one owner at a time, released when the owner dies.
#include "sweep/claims.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <string>

#include "record/store.h"

namespace laptime {
namespace {

namespace fs = std::filesystem;

Record point(const std::string& hash) {
  Record record;
  record.config_hash = hash;
  return record;
}

class Claim : public testing::Test {
 protected:
  ~Claim() override { fs::remove(store_); }
  fs::path store_ = fs::path(testing::TempDir()) / ("laptime_claim_" + std::to_string(getpid()) + ".sqlite");
};

TEST_F(Claim, HasOneOwnerAtATime) {
  Store::open(store_).check_writable();
  std::optional<PointClaim> first = PointClaim::take(store_, point("a"));
  ASSERT_TRUE(first.has_value());
  EXPECT_FALSE(PointClaim::take(store_, point("a")).has_value());
  EXPECT_TRUE(PointClaim::take(store_, point("b")).has_value());
  first.reset();
  EXPECT_TRUE(PointClaim::take(store_, point("a")).has_value());
}

TEST_F(Claim, DoesNotBlockWritesToTheStore) {
  Store::open(store_).check_writable();
  const std::optional<PointClaim> claim = PointClaim::take(store_, point("a"));
  Store::open(store_).check_writable();
  EXPECT_FALSE(PointClaim::take(store_, point("a")).has_value());  // the store's own locks are independent of the claim
  EXPECT_TRUE(claim.has_value());
}

TEST_F(Claim, IsReleasedWhenItsOwnerDies) {
  Store::open(store_).check_writable();
  std::array<int, 2> ready{};
  ASSERT_EQ(pipe(ready.data()), 0);
  const pid_t owner = fork();
  if (owner == 0) {
    const std::optional<PointClaim> claim = PointClaim::take(store_, point("a"));
    if (write(ready[1], "x", 1) == 1) pause();
    _exit(claim ? 0 : 1);
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  EXPECT_FALSE(PointClaim::take(store_, point("a")).has_value());
  kill(owner, SIGKILL);
  waitpid(owner, nullptr, 0);
  EXPECT_TRUE(PointClaim::take(store_, point("a")).has_value());
  close(ready[0]);
  close(ready[1]);
}

TEST_F(Claim, IsGrantedIfFileCannotBeLocked) {
  const std::optional<PointClaim> first = PointClaim::take(store_ / "none", point("a"));
  EXPECT_TRUE(first.has_value());
  EXPECT_TRUE(PointClaim::take(store_ / "none", point("a")).has_value());
}

}  // namespace
}  // namespace laptime
