// Agreements between ranks outside of steps: texts, and decisions that all of them take alike.
#pragma once

#include <string>
#include <vector>

#include "backend/group.h"

namespace laptime {

// The text of rank 0. Every rank calls it; the text of the others is ignored.
std::string broadcast(Group& group, const std::string& text);
// The texts of all ranks, in their order, on every rank.
std::vector<std::string> gather(Group& group, const std::string& text);
// The decision of rank 0, after every rank has come to it.
bool decide(Group& group, bool own);

}  // namespace laptime
