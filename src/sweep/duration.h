// How long a sweep takes: expected from the plans of its points, and estimated while it runs.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/units.h"
#include "prepare/knowledge.h"
#include "prepare/resolved_point.h"

namespace laptime {

// Estimates the rest of a sweep from the times of its finished points and the cost of each point.
class TimeLeft {
 public:
  // `costs`: of each point, in seconds or in any other unit; 0 for one that does not run.
  explicit TimeLeft(std::vector<double> costs, bool are_seconds = false)
      : costs_(std::move(costs)), are_seconds_(are_seconds) {}

  void finished(size_t point, Seconds took);
  void skipped(size_t point);  // took no time, and does not change the estimate of the others

  // The time left while `point` runs: it has run for `elapsed` and, if it reports progress, needs `of_point` more. None
  // before there is anything to estimate from.
  std::optional<Seconds> estimate(size_t point, std::optional<Seconds> of_point, Seconds elapsed) const;

 private:
  std::vector<double> costs_;
  bool are_seconds_;
  std::vector<bool> done_ = std::vector<bool>(costs_.size());
  double known_cost_ = 0;
  Seconds known_time_{};
};

struct ExpectedPoint {
  std::optional<Seconds> time;  // set-up, warm-up and samples; none if nothing was measured to predict from
  // The range of the time if few launches were measured to predict from.
  std::optional<std::pair<Seconds, Seconds>> rough{};
  bool fits = true;
  // When the record that --resume finds was measured, in ISO 8601; none if there is no such record and the point runs.
  std::optional<std::string> stored_at{};

  bool runs() const { return !stored_at && fits && (!time || time->count() > 0); }
};

// Plans every point that runs on this machine. Empty for more than `kMostPlanned` points, because planning them would
// take too long. `begin` is called with the index of each point before its plan.
inline constexpr size_t kMostPlanned = 24;
std::vector<ExpectedPoint> expected_points(const std::vector<ResolvedPoint>& points, const KnowledgeOf& knowledge,
                                           const std::function<void(size_t)>& begin = {});

// The estimate of the time left: from the expected times, or in proportion to FLOPs where a point has no expected time.
// None before the first point has run where an expected time is rough.
TimeLeft time_left(const std::vector<ResolvedPoint>& points, const std::vector<ExpectedPoint>& expected);

}  // namespace laptime
