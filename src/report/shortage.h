// What did not fit into memory, in words.
#pragma once

#include <span>
#include <string>

#include "record/record.h"

namespace laptime {

// Explains the smallest of the records that are out_of_memory: its configuration, how many bytes it needs and why they
// are not available, each large tensor that is live at its peak with its shape, and their sum. Whole lines; empty where
// there is no such record.
std::string explain_shortage(std::span<const Record> records);

}  // namespace laptime
