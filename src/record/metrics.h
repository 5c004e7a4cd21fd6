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

// True if the record's times come from a device model, not from measurement. Also works for a planned point.
bool is_predicted(const Record& record);

// True if the model's key/value heads have their default number and width, even if the record states these values
// explicitly, as records of other programs may.
bool has_default_key_heads(const Record& record);

// The program that ran the record's steps, such as "pytorch"; empty for laptime. Works even if only the record's name
// was read, because the name includes the program.
std::string system_of(const Record& record);

std::span<const Metric> metrics();
const Metric* find_metric(std::string_view tag);  // null for an unknown tag

}  // namespace laptime
