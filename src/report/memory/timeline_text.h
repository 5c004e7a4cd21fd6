// The bytes held over a step as a picture of characters.
#pragma once

#include <string>

#include "analysis/memory_ledger.h"
#include "record/step_trace.h"
#include "report/record_table.h"

namespace laptime {

// Lines that end in a line break: bars of the bytes held, the phases below them, and where the peak is. From left to
// right the launches in order, as wide as the terminal.
std::string timeline_text(const StepTrace& trace, const MemoryLedger& ledger, const TableStyle& style);

}  // namespace laptime
