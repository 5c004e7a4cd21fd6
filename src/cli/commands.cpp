// One row per command.
#include "cli/commands.h"

#include <array>

#include "cli/commands/attention.h"
#include "cli/commands/bench.h"
#include "cli/commands/calibrate.h"
#include "cli/commands/compare.h"
#include "cli/commands/completion.h"
#include "cli/commands/demo.h"
#include "cli/commands/explain.h"
#include "cli/commands/export.h"
#include "cli/commands/history.h"
#include "cli/commands/import.h"
#include "cli/commands/list.h"
#include "cli/commands/man.h"
#include "cli/commands/memory.h"
#include "cli/commands/plan.h"
#include "cli/commands/profile.h"
#include "cli/commands/record.h"
#include "cli/commands/report.h"
#include "cli/commands/selfcheck.h"
#include "cli/commands/show.h"
#include "cli/commands/verify.h"

namespace laptime {

std::span<const Command* const> commands() {
  static constexpr std::array<const Command*, 20> kCommands{&kBench,  &kAttention, &kRecord,  &kCompare,    &kSelfcheck,
                                                            &kPlan,   &kCalibrate, &kProfile, &kMemory,     &kExplain,
                                                            &kVerify, &kDemo,      &kShow,    &kHistory,    &kReport,
                                                            &kExport, &kImport,    &kList,    &kCompletion, &kMan};
  return kCommands;
}

}  // namespace laptime
