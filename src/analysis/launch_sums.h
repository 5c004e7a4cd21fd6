// Launches of a trace added up by a key, with their time, work and distance from the roofline.
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

// Launches with the same key. Totals are of one step: the mean over the traced steps.
struct LaunchSum {
  std::string key;
  int64_t calls = 0;              // launches per step
  double total = 0;               // seconds per step
  double flops = 0;               // model FLOPs per step
  double bytes = 0;               // bytes per step that must be read and written
  double uncached_bytes = 0;      // those of launches with more bytes than the caches hold; 0 if unknown
  double compute_floor = 0;       // seconds: FLOPs over the measured peak; 0 if unknown
  double memory_floor = 0;        // seconds: bytes over the measured bandwidth; 0 if unknown
  double floor = 0;               // seconds: the larger of the two of each launch, added up
  std::vector<double> instances;  // seconds of every launch of every traced step, in order

  double mean() const;
  double median() const;
  double min() const;
  double max() const;
  std::optional<double> std() const;  // of the sample; none for a single instance
  // floor / total: 1 is as fast as the machine allows, more if operands come from caches. None if unknown.
  std::optional<double> of_roofline() const;
  // "compute" or "memory": which of the two floors is higher. Empty if unknown.
  std::string bound() const;
};

// The columns of a launch by which a filter selects: phase, scope, layer, ...
std::vector<std::string_view> launch_columns();
// The value of one of them, whose name may be written as in the header of a table ("Class"). Error for another name.
Json launch_column(const TraceLaunch& launch, std::string_view column);

using LaunchKey = std::function<std::string(const TraceLaunch&)>;
// "backward layers.*.ffn": the phase and the part of the model, equal layers counting as one.
std::string part_key(const TraceLaunch& launch);
using LaunchTest = std::function<bool(const TraceLaunch&)>;

// Classes of work that questions are about.
inline constexpr std::string_view kProductClass = "matmul";
inline constexpr std::string_view kSoftmaxClass = "softmax";
inline constexpr std::string_view kCastClass = "cast";
inline constexpr std::string_view kCommunicationClass = "communication";  // bounded by neither arithmetic nor memory
std::string class_of(const TraceLaunch& launch);

// One sum per key, in the order of the first launch. Launches that `test` refuses are left out; null: none.
std::vector<LaunchSum> sum_launches(const StepTrace& trace, const LaunchKey& key, const LaunchTest& test = {});

// Sorts sums by their time, the longest first.
std::vector<LaunchSum> largest_first(std::vector<LaunchSum> sums);

// Seconds of the launches that `test` accepts, added up in each traced step. A null test accepts all.
std::vector<double> seconds_by_step(const StepTrace& trace, const LaunchTest& test = {});
// Seconds of each traced step, the time between its launches included.
std::vector<double> whole_steps(const StepTrace& trace);

// The least seconds of a launch: its FLOPs at `flops` per second or its bytes at `bandwidth`, whichever take longer. A
// rate that is not known counts as endless.
double least_seconds(const TraceLaunch& launch, const std::optional<double>& flops,
                     const std::optional<double>& bandwidth);

// What the launches make together, as a noun: "step" with an optimizer, else "forward pass", "backward pass" or
// "forward and backward pass".
std::string pass_of(const StepTrace& trace);

// Totals of whole steps, the means over the traced ones.
struct StepTotals {
  double step = 0;      // seconds
  double launches = 0;  // seconds in launches
  double residue() const { return step - launches; }
};
StepTotals totals_of(const StepTrace& trace);

// One op in one phase, as a dot under the roofline.
struct RooflineDot {
  std::string phase;
  std::string op;
  std::string work_class;
  double intensity = 0;  // FLOP/byte
  double rate = 0;       // FLOP/s
  double seconds = 0;    // per step

  std::string name() const { return phase + " " + op; }
};

// Those with FLOPs, bytes and time, the longest first.
std::vector<RooflineDot> roofline_dots(const StepTrace& trace);

}  // namespace laptime
