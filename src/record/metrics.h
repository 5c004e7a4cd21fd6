// The metric table: every figure that can be read from a record, stated once. Reporters know no metric by name.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/key.h"
#include "record/record.h"

namespace laptime {

enum class Better : uint8_t { kLower, kHigher, kNeither };

std::string_view name_of(Better better);  // "lower", "higher", "-"

struct Metric {
  std::string_view tag;  // column name: "tokens_per_second"
  Unit unit = Unit::kNone;
  Better better = Better::kNeither;
  std::string_view description;
  std::string_view formula;                                // in keys of the record
  std::optional<double> (*read)(const Record&) = nullptr;  // none where the record does not know it
};

// Whether a device model gives the times of the record, so that nothing is measured. Known of a planned point too.
bool is_predicted(const Record& record);

// The program that ran the steps of the record, "pytorch"; empty for laptime. Also known of a record of which only the
// name was read, since the name of such a record states it.
std::string system_of(const Record& record);

std::span<const Metric> metrics();
const Metric* find_metric(std::string_view tag);  // null for an unknown tag

}  // namespace laptime
