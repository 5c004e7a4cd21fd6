// config_of: the configuration of a point, from its options as words.
#pragma once

#include <string_view>
#include <vector>

#include "points/resolve.h"
#include "table/text.h"

namespace laptime::test {

// For example config_of("model small batch 8").
inline RunConfig config_of(std::string_view words) {
  const std::vector<std::string_view> parts = fields_of(words, ' ');
  std::vector<GivenOption> given;
  for (size_t i = 0; i + 1 < parts.size(); i += 2) given.push_back({parts[i], parts[i + 1]});
  return resolve(given).config;
}

}  // namespace laptime::test
