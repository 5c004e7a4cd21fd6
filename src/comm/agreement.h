// Exchanges texts and decisions between ranks outside of steps. All functions are collective:
// every rank makes the same calls in the same order.
#pragma once

#include <string>
#include <vector>

#include "backend/group.h"

namespace laptime {

// Returns the text of rank 0; the argument of other ranks is ignored.
std::string broadcast(Group& group, const std::string& text);
// Returns the texts of all ranks, in rank order, on every rank.
std::vector<std::string> gather(Group& group, const std::string& text);
// The number of ranks before this one that run on the same machine.
int local_rank(Group& group);
// Returns the decision of rank 0 once every rank has called this function; `own` of other ranks is ignored.
bool decide(Group& group, bool own);

}  // namespace laptime
