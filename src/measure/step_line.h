// StepLine: one step that another program has run, as that program states it in a line of JSON.
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
  std::set<std::string> keys{};                               // that the line has
  Seconds step{};                                             // the whole step; more than 0
  std::vector<std::pair<Phase, Seconds>> phases{};            // those that were timed within it, in order of the phases
  std::vector<std::pair<std::string, Seconds>> own_phases{};  // of other names ("data"), in the order of the line
  std::optional<int64_t> begin{};                             // ns, on any clock that does not step back
  std::optional<double> loss{};                               // may be infinite
  std::optional<int64_t> peak_bytes{};                        // most bytes of tensors so far
  std::optional<int64_t> peak_rss_bytes{};                    // most resident bytes of the process so far
};

// {"step": 12000000, "forward": 4000000, "begin": 81200345678, "loss": 9.25, "phases": {"data": 70000}}: durations and
// times in nanoseconds. A key with null, or NaN as Python writes it, has no value. `phases` may also name forward,
// backward and optimizer. Error for any other line: an unknown key with the nearest known one, a key twice, a value of
// another type or out of range, a phase with a name that is not a word, phases that are longer than their step.
StepLine parse_step_line(std::string_view text);

}  // namespace laptime
