// laptime explain: shows what bench would run.
#pragma once

#include <array>
#include <cstdint>

#include "cli/command.h"
#include "config/sweep.h"
#include "report/explanation_text.h"

namespace laptime {

enum class Dump : uint8_t { kNone, kGraph, kPlan };

constexpr auto choices_of(Dump) {
  return std::array{Choice<Dump>{Dump::kNone, "none"}, Choice<Dump>{Dump::kGraph, "graph"},
                    Choice<Dump>{Dump::kPlan, "plan"}};
}

struct ExplainCommand {
  Sweep sweep;
  Dump dump = Dump::kNone;
  ExplainView view = ExplainView::kSummary;
};

ExplainCommand parse_explain(const CommandWords& words);

}  // namespace laptime
