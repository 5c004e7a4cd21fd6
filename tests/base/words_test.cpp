// Quoting and the nearest name.
#include "base/words.h"

#include <gtest/gtest.h>

namespace laptime {
namespace {

TEST(Words, QuoteEscapesAndShortensText) {
  EXPECT_EQ(quote("small"), "'small'");
  EXPECT_EQ(quote("\x1b[2J\n"), "'\\x1b[2J\\x0a'");
  EXPECT_EQ(quote(std::string(81, 'a')), "'" + std::string(80, 'a') + "...'");
  EXPECT_EQ(quote(std::string(79, 'a') + "\xC3\xA9"),
            "'" + std::string(79, 'a') + "...'");  // does not split the two-byte character
  EXPECT_EQ(quote(""), "''");
}

TEST(Words, JoinsOnlyNonemptyTexts) {
  EXPECT_EQ(joined_nonempty({"", "a", "", "b"}, "; "), "a; b");
  EXPECT_EQ(joined_nonempty({"", ""}, "; "), "");
}

TEST(Words, SuggestsNearestName) {
  const std::vector<std::string_view> known{"small", "medium", "large", "xl", "batch", "batches"};
  EXPECT_EQ(nearest_name("smal", known), "small");
  EXPECT_EQ(nearest_name("SMALL", known), "small");
  EXPECT_EQ(nearest_name("medimu", known), "medium");
  EXPECT_EQ(nearest_name("bathces", known), "batches");
  EXPECT_EQ(nearest_name("bat", known), "batch");
  EXPECT_EQ(nearest_name("speed", {"seed", "speedup_low", "speedup"}), "speedup");
  EXPECT_EQ(nearest_name("Speed", {"speedup", "speed"}), "speed");
  EXPECT_EQ(nearest_name("sp", {"speedup"}), "");
  EXPECT_EQ(nearest_name("gigantic", known), "");
  EXPECT_EQ(nearest_name("", known), "");
  EXPECT_EQ(nearest_name(std::string(100'000, 'x'), known), "");
  EXPECT_EQ(nearest_name("small", {}), "");
  EXPECT_EQ(did_you_mean("smal", known), "; did you mean 'small'?");
  EXPECT_EQ(did_you_mean("gigantic", known), "");
}

}  // namespace
}  // namespace laptime
