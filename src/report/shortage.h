// What did not fit into memory, in words.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "record/record.h"

namespace laptime {

// Bytes that the record's point asked for; the largest number where they are not known.
int64_t bytes_asked_for(const Record& record);

// Explains the smallest of the records that are out_of_memory: its configuration, how many bytes it needs and why they
// are not available, each large tensor that is live at its peak with its shape, and their sum. Whole lines; empty where
// there is no such record.
std::string explain_shortage(std::span<const Record> records);

}  // namespace laptime
