// Launches of a trace summed by a key, with their time, work and distance from the roofline.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "record/step_trace.h"

namespace laptime {

// Sum of launches with the same key. Totals are per step: means over the traced steps.
struct LaunchSum {
  std::string key;
  TraceLaunch first;                // the first of these launches; the trace owns its strings
  int64_t calls = 0;                // launches per step
  double total = 0;                 // seconds per step
  double flops = 0;                 // model FLOPs per step
  double bytes = 0;                 // bytes per step that must be read and written
  double uncached_bytes = 0;        // `bytes` of launches that exceed the cache; 0 if the cache size is unknown
  double compute_floor = 0;         // seconds: FLOPs / peak; 0 for communication or an unknown peak
  double memory_floor = 0;          // seconds: bytes / bandwidth; 0 for communication or an unknown bandwidth
  double floor = 0;                 // seconds: sum of the larger floor of each launch
  std::vector<double> instances{};  // seconds of every launch of every traced step, in order
  std::vector<double> by_step{};    // seconds in each traced step

  // floor / total: 1 means as fast as the machine allows; it exceeds 1 if operands come from caches. None if the floor
  // is unknown.
  std::optional<double> of_roofline() const;
  // "compute" or "memory": which of the two floors is higher. Empty if neither is known.
  std::string bound() const;
};

// The columns that launch filters can use: phase, scope, layer, ...
std::vector<std::string_view> launch_columns();
// The value of a launch in one of the launch_columns(). Case is ignored, so that users may copy a name from a table
// header ("Class"). Throws Error if there is no such column.
Json launch_column(const TraceLaunch& launch, std::string_view column);

using LaunchKey = std::function<std::string(const TraceLaunch&)>;
// "backward layers.*.ffn": the phase and the part of the model, with equal layers treated as one.
std::string part_key(const TraceLaunch& launch);
// "backward matmul": the phase and the class of work.
std::string class_key(const TraceLaunch& launch);
using LaunchTest = std::function<bool(const TraceLaunch&)>;

// Classes of work that findings treat specially.
inline constexpr std::string_view kProductClass = "matmul";
inline constexpr std::string_view kSoftmaxClass = "softmax";
inline constexpr std::string_view kCastClass = "cast";
inline constexpr std::string_view kCommunicationClass = "communication";  // bounded by neither arithmetic nor memory
std::string class_of(const TraceLaunch& launch);
std::string phase_of(const TraceLaunch& launch);
std::string kernel_of(const TraceLaunch& launch);  // "matmul:tiles_avx2"

// Returns one sum per key, in the order in which the keys first occur. Launches that `test` rejects are skipped; a null
// test accepts all.
std::vector<LaunchSum> sum_launches(const StepTrace& trace, const LaunchKey& key, const LaunchTest& test = {});

// Sorts sums by time, longest first.
std::vector<LaunchSum> largest_first(std::vector<LaunchSum> sums);

// Seconds of the launches that `test` accepts, summed per traced step. A null test accepts all.
std::vector<double> seconds_by_step(const StepTrace& trace, const LaunchTest& test = {});
// Seconds of each traced step, including the time between its launches.
std::vector<double> whole_steps(const StepTrace& trace);

// The minimum time of all launches, in seconds. Each launch takes FLOPs / `flops` or bytes / `bandwidth`, whichever is
// longer. An unknown rate counts as infinite, and communication takes no time.
double least_seconds(const StepTrace& trace, const std::optional<double>& flops,
                     const std::optional<double>& bandwidth);

// Names the pass that the launches form: "forward pass", "backward pass" or "forward and backward pass", or "step" if
// there are launches of other phases or none at all.
std::string pass_of(const StepTrace& trace);

// Totals per step, as means over the traced steps.
struct StepTotals {
  double step = 0;      // seconds of a step
  double launches = 0;  // seconds in launches
  double residue() const { return step - launches; }
};
StepTotals totals_of(const StepTrace& trace);

}  // namespace laptime
