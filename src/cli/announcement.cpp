// Plans points before they run.
#include "cli/announcement.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "cli/progress.h"
#include "distribution/stopping_rule.h"
#include "measure/forecast_point.h"
#include "prepare/device.h"

namespace laptime {
namespace {

// Plan, kernel trial, memory and weights, in steps: measured for models of one to twelve layers.
constexpr double kSetupSteps = 3;

Seconds time_of(const RunConfig& config, Seconds step) {
  const SamplingLimits limits;
  if (config.steps) {
    const auto steps = static_cast<double>(config.warmup.value_or(0) + *config.steps);
    return step * (steps + kSetupSteps);
  }
  const Seconds warmup = step * static_cast<double>(limits.min_warmup);
  // Short steps are sampled until their median is known, of which half the limit is a usual time.
  const Seconds samples = std::max(step * static_cast<double>(limits.min_samples), Seconds{1});
  return step * kSetupSteps + warmup + std::min(samples, std::max(limits.max_sampling_time, step));
}

}  // namespace

std::vector<ExpectedPoint> expected_points(const std::vector<SweepPoint>& points, const KnowledgeOf& knowledge) {
  if (points.size() > kMostPlanned) return {};
  std::vector<ExpectedPoint> expected;
  for (const SweepPoint& point : points) {
    ExpectedPoint& one = expected.emplace_back();
    const bool runs = point.invalid.empty() && unsupported_reason(point.config).empty();
    if (!runs || !find_device(point.config).computes) {
      one.time = Seconds{0};
      continue;
    }
    const Record record = forecast_point(point, knowledge(device_key(point.config))).record;
    one.fits = record.status != Status::kOutOfMemory;
    double step = 0;  // of all phases, whichever the pass reports
    for (const ClassShare& share : record.prediction.classes) step += share.seconds;
    if (!one.fits) {
      one.time = Seconds{0};
    } else if (step > 0) {
      one.time = time_of(point.config, Seconds{step});
    }
  }
  return expected;
}

std::string announcement(const std::vector<SweepPoint>& points, const std::vector<ExpectedPoint>& expected) {
  Seconds whole{0};
  bool is_known = !expected.empty();
  std::vector<std::string> too_large;
  for (size_t i = 0; i < expected.size(); ++i) {
    is_known = is_known && expected[i].time.has_value();
    whole += expected[i].time.value_or(Seconds{0});
    if (!expected[i].fits) too_large.push_back(points[i].name);
  }
  const bool runs = !is_known || whole.count() > 0;
  if (!runs && too_large.empty()) return "";
  std::string text = fmt::format("{} point{}", points.size(), points.size() == 1 ? "" : "s");
  if (is_known && runs) text += fmt::format(", about {}", rough_time(whole));
  if (!is_known && !expected.empty())
    text += "; how long they take is known once laptime calibrate has measured this machine";
  constexpr size_t kNamed = 3;
  if (!too_large.empty()) {
    const size_t more = too_large.size() - std::min(kNamed, too_large.size());
    too_large.resize(too_large.size() - more);
    text += fmt::format("; too large for the memory: {}{}", fmt::join(too_large, ", "),
                        more > 0 ? fmt::format(" and {} more", more) : "");
  }
  return text;
}

std::string busy_machine(double load, int cores) {
  constexpr double kQuiet = 0.25;  // of the cores: an idle desktop
  if (load < kQuiet * cores) return "";
  return fmt::format("the machine is busy (load average {:.1f} on {} core{}): times will be too long and vary", load,
                     cores, cores == 1 ? "" : "s");
}

}  // namespace laptime
