// What the process of a point says to the process that started it: one JSON object per line.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "measure/run_one.h"

namespace laptime {

inline constexpr size_t kMaxMessageBytes = kMaxRecordBytes + (size_t{16} << 20U);

// A line, its break included.
std::string message_text(const PointProgress& progress);
std::string message_text(const Record& planned);  // what is known of a point before its steps
std::string message_text(const PointResult& result);

using ChildMessage = std::variant<PointProgress, Record, PointResult>;

// Error for a line that is no message.
ChildMessage parse_message(std::string_view line);

}  // namespace laptime
