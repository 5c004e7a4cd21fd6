// Forecasts how long the points of a sweep will take, as figures and as the line that announces them.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/units.h"
#include "cli/progress.h"
#include "prepare/knowledge.h"
#include "prepare/resolved_point.h"

namespace laptime {

struct ExpectedPoint {
  std::optional<Seconds> time;  // set-up, warm-up and samples; none if nothing was measured to predict from
  // Where few launches were measured to predict from, what it may take as well.
  std::optional<std::pair<Seconds, Seconds>> rough{};
  bool fits = true;
  // When the record that --resume finds was measured, in ISO 8601; none if there is no such record and the point runs.
  std::optional<std::string> stored_at{};

  bool runs() const { return !stored_at && fits && (!time || time->count() > 0); }
};

// Plans every point that runs on this machine. Empty if there are more than `kMostPlanned`, as planning takes longer
// then than it is worth. `begin` is called before the plan of each point, with its index.
inline constexpr size_t kMostPlanned = 24;
std::vector<ExpectedPoint> expected_points(const std::vector<ResolvedPoint>& points, const KnowledgeOf& knowledge,
                                           const std::function<void(size_t)>& begin = {});

// The estimate of the time left: from the expected times, or in proportion to FLOPs where a point has no expected time.
// None before the first point has run where an expected time is rough.
TimeLeft time_left(const std::vector<ResolvedPoint>& points, const std::vector<ExpectedPoint>& expected);

// "16 points, 4 from the store, measured 2026-01-02 10:15 UTC or later, about 3 min; too large for the memory: large".
// `expected` comes from expected_points; empty if every point is a prediction.
std::string announcement(const std::vector<ResolvedPoint>& points, const std::vector<ExpectedPoint>& expected);

}  // namespace laptime
