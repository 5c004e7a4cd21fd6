// Depth and number of keys of JSON texts, and the depth to which they are parsed.
#include "base/json_size.h"

#include <gtest/gtest.h>

#include <string>

#include "base/json.h"

namespace laptime {
namespace {

TEST(JsonSize, CountsDepthAndKeysOutsideStrings) {
  const auto expect = [](std::string_view text, size_t depth, size_t keys) {
    const JsonSize size = json_size(text);
    EXPECT_EQ(size.depth, depth) << text;
    EXPECT_EQ(size.keys, keys) << text;
  };
  expect("", 0, 0);
  expect("7", 0, 0);
  expect("[]", 1, 0);
  expect("[[1], [[2]], []]", 3, 0);
  expect(R"({"a": {"b": [1, {"c": 2}]}, "d": 3})", 4, 4);
  expect(R"({"[{:": "]}:", "\"[:": "\\"})", 1, 2);
  expect("]]][", 1, 0);
  expect("\"open [", 0, 0);
  expect("\"open \\", 0, 0);
  expect(std::string(100'000, '['), 100'000, 0);
}

TEST(Json, RejectsDeepNesting) {
  const auto nested = [](size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_EQ(Json::parse(nested(512)).dump(), nested(512));
  EXPECT_THROW(Json::parse(nested(513)), JsonError);
  EXPECT_THROW(Json::parse(nested(1'000'000)), JsonError);
}

}  // namespace
}  // namespace laptime
