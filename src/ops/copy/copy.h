// The structural ops that move bytes (graph/structural_ops.h): their kernels live here.
#pragma once

#include "graph/structural_ops.h"

namespace laptime {

std::span<const OpCard* const> copy_cards();

}  // namespace laptime
