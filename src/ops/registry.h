// The list of all ops: structural ones and every family of op_list.inc.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "graph/op.h"

namespace laptime {

std::vector<const OpCard*> all_ops();
const OpCard* find_op(std::string_view name);  // null when there is none

}  // namespace laptime
