// The commands of the program and their table, from which parsing, dispatch and help follow.
#pragma once

#include <span>

#include "cli/command.h"

namespace laptime {

// Each in its own source in cli/commands/.
extern const Command kBench;
extern const Command kAttention;
extern const Command kRecord;
extern const Command kCompare;
extern const Command kSelfcheck;
extern const Command kPlan;
extern const Command kCalibrate;
extern const Command kProfile;
extern const Command kMemory;
extern const Command kExplain;
extern const Command kVerify;
extern const Command kDemo;
extern const Command kShow;
extern const Command kHistory;
extern const Command kReport;
extern const Command kExport;
extern const Command kImport;
extern const Command kList;
extern const Command kCompletion;
extern const Command kMan;

std::span<const Command* const> commands();  // in the order of help

}  // namespace laptime
