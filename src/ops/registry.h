// All ops by list and by name.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "graph/op.h"

namespace laptime {

// The structural ops and those of every family of op_list.inc.
std::vector<const OpCard*> all_ops();
const OpCard* find_op(std::string_view name);  // null when there is none

}  // namespace laptime
