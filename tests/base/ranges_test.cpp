#include "base/ranges.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>

namespace laptime {
namespace {

struct Named {
  std::string name;
  int value = 0;
};

const std::vector<Named> kAll{{"a", 1}, {"b", 2}, {"b", 3}};

TEST(Ranges, MapsElementsByMemberOrFunction) {
  EXPECT_EQ(mapped(kAll, &Named::value), (std::vector{1, 2, 3}));
  EXPECT_EQ(mapped(kAll, [](const Named& one) { return one.name + "!"; }),
            (std::vector<std::string>{"a!", "b!", "b!"}));
  EXPECT_EQ(mapped<std::string_view>(kAll, &Named::name), (std::vector<std::string_view>{"a", "b", "b"}));
}

TEST(Ranges, FindsFirstElementOrNull) {
  EXPECT_EQ(find_in(kAll, "b", &Named::name), &kAll[1]);
  EXPECT_EQ(find_in(kAll, "c", &Named::name), nullptr);
  EXPECT_TRUE(is_among(2, std::vector{1, 2}));
  EXPECT_FALSE(is_among(3, std::vector{1, 2}));
}

TEST(Ranges, FindsValueOfKeyOrNull) {
  std::map<std::string, int> map{{"a", 1}};
  *at_key(map, "a") = 4;
  EXPECT_EQ(map["a"], 4);
  EXPECT_EQ(at_key(map, "b"), nullptr);
}

}  // namespace
}  // namespace laptime
