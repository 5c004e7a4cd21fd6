// stored_types: how the program of a run stores a training, and which values it keeps for backward.
#pragma once

#include "cluster/described_run.h"
#include "predict/rank_bytes.h"

namespace laptime {

StoredTypes stored_types(const DescribedRun& run);

}  // namespace laptime
