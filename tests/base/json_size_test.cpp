// Depth and number of keys of JSON texts.
#include "base/json_size.h"

#include <gtest/gtest.h>

#include <string>

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

}  // namespace
}  // namespace laptime
