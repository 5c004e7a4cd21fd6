// The line on standard error that says where a sweep is and how long it will take.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "cli/terminal.h"
#include "measure/run_one.h"

namespace laptime {

// How long the rest of a sweep takes, from what the points so far took and what each costs.
class TimeLeft {
 public:
  // `costs`: of each point, in seconds or in any other unit; 0 for one that does not run.
  explicit TimeLeft(std::vector<double> costs, bool are_seconds = false)
      : costs_(std::move(costs)), are_seconds_(are_seconds) {}

  void finished(size_t point, Seconds took);
  void skipped(size_t point);  // took nothing, and says nothing about the others

  // While `point` runs, for `elapsed` so far and, where it can tell, for `of_point` more. None while there is nothing
  // to judge by.
  std::optional<Seconds> estimate(size_t point, std::optional<Seconds> of_point, Seconds elapsed) const;

 private:
  std::vector<double> costs_;
  bool are_seconds_;
  std::vector<bool> done_ = std::vector<bool>(costs_.size());
  double known_cost_ = 0;
  Seconds known_time_{};
};

// "[3/20] step small ctx 256: step 4 of 15, about 2 min left"
std::string progress_text(size_t point, size_t points, const std::string& name, const PointProgress& progress,
                          std::optional<Seconds> left);

// "45 s", "12 min", "3.5 h": rounded, because it is an estimate.
std::string rough_time(Seconds time);

// On a terminal one line that is overwritten; elsewhere a plain line now and then.
class ProgressLine {
 public:
  explicit ProgressLine(const OutputStream& stream) : stream_(stream) {}

  // `now` is a time that advances within a point, such as the time since it began. Off a terminal a new `point` is
  // shown at once, and news of the same one every kPlainInterval.
  void show(size_t point, const std::string& text, Seconds now);
  void clear();  // before anything else is written to the same terminal

 private:
  static constexpr Seconds kPlainInterval{10};
  static std::string fitted(const std::string& text, size_t room);

  OutputStream stream_;
  bool visible_ = false;
  std::optional<size_t> shown_point_;
  Seconds shown_{};
};

}  // namespace laptime
