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
  // `costs`: one per point, in seconds or any other unit; 0 for a point that does not run.
  explicit TimeLeft(std::vector<double> costs, bool are_seconds = false)
      : costs_(std::move(costs)), are_seconds_(are_seconds) {}

  void finished(size_t point, Seconds took);
  void skipped(size_t point);  // a point that took no time; does not change the estimate for the others

  // The time left while `point` runs. `elapsed` is the time that the point has run, and `of_point` its remaining time,
  // if it reports progress. None if there is no basis for an estimate yet.
  std::optional<Seconds> estimate(size_t point, std::optional<Seconds> of_point, Seconds elapsed) const;

 private:
  std::vector<double> costs_;
  bool are_seconds_;
  std::vector<bool> done_ = std::vector<bool>(costs_.size());
  double known_cost_ = 0;
  Seconds known_time_{};
};

struct ExpectedPoint {
  std::optional<Seconds> time;  // set-up, warm-up and samples; none if no measurements are available for a prediction
  // The range in which `time` is expected; set if only a few launches were measured.
  std::optional<std::pair<Seconds, Seconds>> rough{};
  bool fits = true;
  // Date (ISO 8601) of the stored record that --resume takes instead of running the point; none without --resume or if
  // the store has no such record.
  std::optional<std::string> stored_at{};

  bool runs() const { return !stored_at && fits && (!time || time->count() > 0); }
};

// Plans every point that runs on this machine. Empty for more than `kMostPlanned` points, because planning them would
// take too long. `begin` is called with the index of each point before it is planned.
inline constexpr size_t kMostPlanned = 24;
std::vector<ExpectedPoint> expected_points(const std::vector<ResolvedPoint>& points, const KnowledgeOf& knowledge,
                                           const std::function<void(size_t)>& begin = {});

// Estimates the time left from the expected times, or, if some point has no expected time, in proportion to FLOPs. If
// an expected time is rough, there is no estimate before the first point has run.
TimeLeft time_left(const std::vector<ResolvedPoint>& points, const std::vector<ExpectedPoint>& expected);

}  // namespace laptime
