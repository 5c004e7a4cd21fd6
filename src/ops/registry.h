// All ops, as a list and by name.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "graph/op.h"

namespace laptime {

// The structural ops and the ops of every family in op_list.inc.
std::vector<const OpCard*> all_ops();
const OpCard* find_op(std::string_view name);  // null if there is none

}  // namespace laptime
