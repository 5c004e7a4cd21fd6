// The text of `laptime explain`.
#pragma once

#include <cstdint>
#include <string>

#include "config/option.h"
#include "record/explanation.h"
#include "table/text.h"

namespace laptime {

enum class ExplainView : uint8_t { kSummary, kParameters, kComposites, kKernels, kThreads, kMemory, kAll };

constexpr auto choices_of(ExplainView) {
  return choices<ExplainView>("summary", "parameters", "composites", "kernels", "threads", "memory", "all");
}

// A headline with parameters, FLOPs and bytes, followed by the parts of the view. The summary shows the ops with the
// most FLOPs and the kernels that run them.
std::string print(const Explanation& explanation, ExplainView view = ExplainView::kAll, const TextStyle& style = {});

}  // namespace laptime
