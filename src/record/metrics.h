// The metric table: every figure that can be read from a record, defined once.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/key.h"
#include "record/record.h"

namespace laptime {

enum class Better : uint8_t { kLower, kHigher, kNeither };
constexpr auto choices_of(Better) { return choices<Better>("lower", "higher", "-"); }

struct Metric {
  std::string_view tag;  // column name: "tokens_per_second"
  Unit unit = Unit::kNone;
  Better better = Better::kNeither;
  std::string_view description;
  std::string_view formula;                                // how the figure is computed from record keys
  std::optional<double> (*read)(const Record&) = nullptr;  // returns none if the record lacks the value
};

std::span<const Metric> metrics();
const Metric* find_metric(std::string_view tag);  // null for an unknown tag

}  // namespace laptime
