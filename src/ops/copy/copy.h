// The op family of the structural ops (graph/structural_ops.h), which provides their kernels.
#pragma once

#include "graph/structural_ops.h"

namespace laptime {

std::span<const OpCard* const> copy_cards();

}  // namespace laptime
