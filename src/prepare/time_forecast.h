// TimeForecast: predicts the times of a step, from measured launch costs or from a data sheet; also defines the keys of
// times.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "config/run_config.h"
#include "graph/graph.h"
#include "plan/plan.h"
#include "prepare/device.h"
#include "prepare/knowledge.h"
#include "record/record.h"

namespace laptime {

// The key of the time of a pass, and the key of the time of one phase of that pass.
std::string time_key(Pass pass);
std::string time_key(Phase phase, Pass pass);

// Op and operand types of a signature: "matmul float32~,float32", where ~ marks operands that are not contiguous.
// Launches of one kind differ only in shapes and attributes.
std::string kind_of(const Signature& signature);

// The basis of a launch's predicted time.
enum class CostSource : uint8_t {
  kDescribed,  // the machine is described by a file (predict/launch_times.h)
  kMeasured,   // a launch of the same signature was measured
  kAlike,      // estimated from launches of the same kind, else of the same op, else of any op, at other sizes
};

struct ForecastLaunch {
  double seconds = 0;
  CostSource source = CostSource::kDescribed;
  double disturbed = 0;  // share of the seconds that is based on measurements made while the machine was disturbed
  std::string_view disturbance{};  // main cause of the disturbance; valid while the TimeForecast exists
};

// Predicts the time of launches on one device.
class TimeForecast {
 public:
  // None if the device runs real kernels (Device::computes) and no launch has been measured with the device's number of
  // threads.
  static std::optional<TimeForecast> of(const Device& device, const MachineKnowledge& known);

  // On a described machine, launches overlap: the time of a launch is the time that it adds to the step.
  std::vector<ForecastLaunch> of(const Plan& plan) const;

  size_t measured() const { return costs_.size(); }
  // The errors of predictions: for a described machine, those stored in its file; otherwise, those of earlier runs on
  // this machine and kind of device. They give an interval only if there are KnownRuns::kFewest of them.
  KnownRuns known_runs() const;
  // "measured launches"; for a described machine "reached rates" or, if the predictions are bounds, "data sheet".
  const char* basis() const;
  const std::string& newest() const { return newest_; }  // date of the newest measurement; empty if there is none

 private:
  // A measured launch as a point in the plane of FLOPs and bytes, with its distance from the roofline.
  struct Sample {
    double log_flops = 0;
    double log_bytes = 0;
    double log_slowdown = 0;  // log(measured seconds / roofline seconds)
    std::string_view disturbance;
  };
  struct Cost {
    double seconds = 0;
    std::string_view disturbance;
  };
  struct Roofline {
    double flops_per_second = 0;
    double bytes_per_second = 0;
    double shortest = 0;  // seconds of the shortest launch
    double seconds(double flops, double bytes) const;
  };
  TimeForecast() = default;
  explicit TimeForecast(std::vector<const LaunchCost*> costs);

  ForecastLaunch of(const PlanStep& step) const;
  std::vector<ForecastLaunch> described(const Plan& plan) const;
  ForecastLaunch alike(const std::vector<Sample>& samples, double flops, double bytes) const;

  std::shared_ptr<const LaunchTimes> described_;         // null for a device that computes
  std::shared_ptr<std::set<std::string>> disturbances_;  // owns the text of each disturbance; shared by copies
  std::unordered_map<std::string, Cost> costs_;          // keyed by signature
  std::map<std::string, std::vector<Sample>> by_kind_, by_op_;
  std::vector<Sample> all_;
  Roofline roofline_;
  std::vector<double> errors_;  // errors of earlier predictions, ascending
  std::string newest_;
};

// Sums the forecast of a plan's launches in the form that a record stores.
Prediction predict(const TimeForecast& forecast, const Plan& plan, const std::vector<ForecastLaunch>& launches,
                   Pass pass);

}  // namespace laptime
