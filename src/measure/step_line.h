// StepLine: one step run by another program, as that program states it in a line of JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/units.h"
#include "graph/graph.h"

namespace laptime {

inline constexpr size_t kMaxStepLineBytes = size_t{64} << 10U;

struct StepLine {
  std::set<std::string> keys{};                               // keys of the line
  Seconds step{};                                             // the whole step; more than 0
  std::vector<std::pair<Phase, Seconds>> phases{};            // phases timed within the step, in phase order
  std::vector<std::pair<std::string, Seconds>> own_phases{};  // other phases ("data"), in the order of the line
  std::optional<int64_t> begin{};                             // start of the step in ns, on any monotonic clock
  std::optional<double> loss{};                               // may be infinite
  std::optional<int64_t> peak_bytes{};                        // peak bytes of tensors so far
  std::optional<int64_t> peak_rss_bytes{};                    // peak resident bytes of the process so far
};

// {"step": 12000000, "forward": 4000000, "begin": 81200345678, "loss": 9.25, "phases": {"data": 70000}}: durations and
// times in nanoseconds. A key with null, or NaN as Python writes it, has no value. `phases` may also contain forward,
// backward and optimizer. Throws Error for any other line: an unknown key (suggesting the nearest known one), a
// repeated key, a value with the wrong type or out of range, a phase name that is not valid, or phases that together
// take longer than their step.
StepLine parse_step_line(std::string_view text);

}  // namespace laptime
