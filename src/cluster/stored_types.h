// stored_types: how the program of a run stores its state, and which values it saves for backward.
#pragma once

#include "cluster/described_run.h"
#include "predict/rank_bytes.h"

namespace laptime {

StoredTypes stored_types(const DescribedRun& run);

}  // namespace laptime
