// Looks up or measures the limits of a device.
#include "measure/limits.h"

#include <algorithm>
#include <optional>

#include "base/error.h"

namespace laptime {
namespace {

// What the run reached of a limit; 0 if that is not known.
double reached_of(DeviceLimit::Kind kind, const LimitsRequest& request) {
  switch (kind) {
    case DeviceLimit::Kind::kProductFlops: return request.reached;
    case DeviceLimit::Kind::kBandwidth: return request.reached_bandwidth;
    case DeviceLimit::Kind::kPageFault: return 0;
  }
  return 0;
}

// How often a limit is measured that the run has exceeded. A host may give a guest half of its processors for seconds.
constexpr int kMostAgain = 4;

// The known value, or a new one where there is none. A limit that the run has exceeded is measured again, and the
// largest value counts. The FLOP/s of a run are not taken as a peak: they count masked FLOPs, which kernels skip. No
// value if there is no memory to measure in.
std::optional<double> value_of(const DeviceLimit& limit, const MeasuredPeak* known, double reached,
                               std::vector<MeasuredPeak>& learned) {
  try {
    double value = known == nullptr ? limit.measure() : known->value;
    const bool is_exceeded = value < reached;
    for (int again = 0; again < kMostAgain && value < reached; ++again) value = std::max(value, limit.measure());
    if (is_exceeded && limit.kind == DeviceLimit::Kind::kBandwidth) value = std::max(value, reached);
    if (known == nullptr || is_exceeded) learned.push_back({{}, limit.name, value, limit.unit, {}});
    return value;
  } catch (const OutOfMemory&) {
    return std::nullopt;
  }
}

}  // namespace

MeasuredLimits measure_limits(Backend& backend, DType factors, const LimitsRequest& request,
                              const std::vector<MeasuredPeak>& known, std::vector<MeasuredPeak>& learned) {
  MeasuredLimits limits;
  for (const DeviceLimit& limit : backend.limits(factors)) {
    if (limit.kind == DeviceLimit::Kind::kBandwidth && !request.bandwidth) continue;
    const auto found =
        std::find_if(known.begin(), known.end(), [&](const MeasuredPeak& peak) { return peak.name == limit.name; });
    const std::optional<double> value =
        value_of(limit, found == known.end() ? nullptr : &*found, reached_of(limit.kind, request), learned);
    if (!value) continue;
    switch (limit.kind) {
      case DeviceLimit::Kind::kProductFlops:
        limits.product_flops = *value;
        if (found != known.end() && found->value == *value) limits.product_flops_at = found->created;
        break;
      case DeviceLimit::Kind::kBandwidth: limits.bandwidth = *value; break;
      case DeviceLimit::Kind::kPageFault: limits.page_fault = *value; break;
    }
  }
  return limits;
}

double memory_bandwidth_reached(const StepTrace& trace) {
  constexpr int64_t kTimesTheCache = 4;
  double reached = 0;
  for (size_t i = 0; i < trace.launch_count() && trace.cache_bytes; ++i) {
    const int64_t bytes = trace.launches.bytes[i];
    const double seconds = trace.mean_seconds(i);
    if (bytes >= kTimesTheCache * *trace.cache_bytes && seconds > 0)
      reached = std::max(reached, static_cast<double>(bytes) / seconds);
  }
  return reached;
}

}  // namespace laptime
