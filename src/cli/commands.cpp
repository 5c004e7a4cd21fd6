// One row per command.
#include "cli/commands.h"

#include <array>

namespace laptime {

std::span<const Command* const> commands() {
  static constexpr std::array<const Command*, 20> kCommands{&kBench,  &kAttention, &kRecord,  &kCompare,    &kSelfcheck,
                                                            &kPlan,   &kCalibrate, &kProfile, &kMemory,     &kExplain,
                                                            &kVerify, &kDemo,      &kShow,    &kHistory,    &kReport,
                                                            &kExport, &kImport,    &kList,    &kCompletion, &kMan};
  return kCommands;
}

}  // namespace laptime
