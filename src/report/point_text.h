// One record in a few sentences: time, rate, memory, phases, and the point itself.
#pragma once

#include <string>
#include <vector>

#include "record/record.h"
#include "report/heading.h"
#include "report/record_table.h"

namespace laptime {

// Lines that end in a line break, the answer first. `is_stored`: the record was not measured by this command.
std::string point_text(const Record& record, const Heading& heading, const TableStyle& style, bool is_stored);

// For --verbose, a line each: set-up, first steps, the peak behind the mfu, skipped updates, and the verdict with its
// reasons.
std::vector<std::string> details_of(const Record& record);

// The phases within the pass that was asked for, in the order in which they ran. None of a record without that time.
std::vector<std::string> phases_of(const Record& record);

}  // namespace laptime
