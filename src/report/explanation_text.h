// The text of `laptime explain`.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "config/option.h"
#include "record/explanation.h"
#include "table/text.h"

namespace laptime {

enum class ExplainView : uint8_t { kSummary, kParameters, kComposites, kKernels, kThreads, kMemory, kAll };

constexpr auto choices_of(ExplainView) {
  using enum ExplainView;
  return std::to_array<Choice<ExplainView>>({{kSummary, "summary"},
                                             {kParameters, "parameters"},
                                             {kComposites, "composites"},
                                             {kKernels, "kernels"},
                                             {kThreads, "threads"},
                                             {kMemory, "memory"},
                                             {kAll, "all"}});
}

// A headline with parameters, FLOPs and bytes, followed by the parts of the view. The summary shows the ops with most
// FLOPs and the kernels that run them.
std::string print(const Explanation& explanation, ExplainView view = ExplainView::kAll, const TextStyle& style = {});

}  // namespace laptime
