// The tables of a memory report.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/memory_ledger.h"
#include "analysis/memory_tensors.h"
#include "record/record.h"
#include "record/step_trace.h"
#include "report/grid.h"

namespace laptime {

// The peak by category; the rows add up to what the plan allocates.
Grid categories_grid(const Record& record, const MemoryLedger& ledger);

// The peak of each phase, with its state: gradients, optimizer state, saved activations.
Grid phases_grid(const Record& record, const StepTrace& trace, const MemoryLedger& ledger);

// Requested, planned, held and resident bytes.
Grid accounts_grid(const Record& record, const StepTrace& trace, const MemoryLedger& ledger);

// What a block saves, its largest contributors, and the totals by module and op; empty if nothing is saved.
std::vector<Grid> saved_grids(const SavedBytes& saved);

// At most `top` rows; 0: all.
Grid largest_grid(const StepTrace& trace, const MemoryLedger& ledger, int64_t top);

// The bytes held during each launch, which text shows as a picture.
Grid timeline_grid(const StepTrace& trace, const MemoryLedger& ledger);

}  // namespace laptime
