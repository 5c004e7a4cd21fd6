// PagePoints: which record represents each point of a page, what distinguishes the points, and how they compare.
// TraceSums: the sums over a point's trace that a page draws.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/launch_sums.h"
#include "analysis/memory_ledger.h"
#include "analysis/speedup.h"
#include "page/page.h"

namespace laptime {

// An option in which points differ, such as the context. The values are in numeric order if all of them are numbers,
// otherwise in the order of the records.
struct PageAxis {
  std::string key;    // the option's tag in point names: "ctx"
  std::string title;  // "context"
  std::vector<std::string> values;
};

struct PagePoint {
  const Record* record = nullptr;
  const StepTrace* trace = nullptr;             // of `record` or of another record of the point; null if there is none
  std::map<std::string, std::string> values{};  // keyed by axis key
  std::string name{};                           // unique within its group: "bfloat16 compile"
  std::string full_name{};                      // unique on the page: "step, context 128, bfloat16 compile"
  size_t group = 0;

  const TimeStats* time() const;  // time of the whole pass; null if the record is not ok or has no time
};

// Points that one time chart shows side by side.
struct PageGroup {
  std::vector<size_t> points;
  bool is_one_work = true;  // all points have the same model, sizes and pass, so their times can be compared
  // Points with a predicted time are candidates for the next three fields only if no point has a measured time.
  std::optional<size_t> base;     // the point with which others are compared; has a time
  std::optional<size_t> fastest;  // none if no point has a time
  std::optional<size_t> second;
};

struct PagePoints {
  std::vector<PagePoint> all;
  std::vector<PageAxis> axes;
  std::vector<PageGroup> groups;
  // The point that the page opens with: timed before untimed, measured before predicted, laptime before other programs,
  // then the most complete pass, the largest work, and finally the fastest.
  size_t headline = 0;
  TrainingBudget budget;

  explicit PagePoints(const PageInput& input);  // the input must outlive the points

  const PagePoint& operator[](size_t index) const { return all[index]; }
  const PageGroup& group_of(const PagePoint& point) const { return groups[point.group]; }
  // Speed-up of the point over its group's base. None for the base itself, for a point without a time, between a
  // prediction and a measurement, and if the points of the group do different work.
  std::optional<Speedup> against_base(const PagePoint& point) const;
};

// Every time is a share of the traced steps, multiplied by the point's median, or for the pass `backward` by the sum of
// the medians of forward and backward. The times of a page thus agree with the medians, regardless of the cost of
// timestamps after launches.
struct TraceSums {
  const PagePoint* point = nullptr;
  double step = 0;                 // seconds: the median or sum above, or else `traced`; 0 for a plan
  double traced = 0;               // mean seconds of a traced step
  double residue = 0;              // seconds between launches
  std::vector<LaunchSum> kernels;  // per phase, class and kernel_of; ordered by phase, class, time (longest first)
  std::vector<LaunchSum> classes;  // the classes of work, longest first
  std::vector<LaunchSum> dots;     // per phase and op with FLOPs, bytes and time; longest first
  MemoryLedger ledger;

  explicit TraceSums(const PagePoint& point);
};

}  // namespace laptime
