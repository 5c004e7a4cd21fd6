// What did not fit into memory, in words.
#pragma once

#include <span>
#include <string>

#include "record/record.h"

namespace laptime {

// Of the records of attention alone that are out_of_memory the one that asked for the fewest bytes, worked out: what it
// is, how many bytes it needs and why they are not there, and each large tensor held at its peak with its shape, and
// their sum. Whole lines; empty where there is no such record.
std::string explain_shortage(std::span<const Record> records);

}  // namespace laptime
