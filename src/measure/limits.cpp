// Looks up or measures the limits of a device.
#include "measure/limits.h"

#include <algorithm>
#include <optional>

#include "base/error.h"

namespace laptime {
namespace {

// The known value, or a new one where there is none. A peak of products that the run has exceeded is measured once
// more, and the larger value counts. None if there is no memory to measure.
std::optional<double> value_of(const DeviceLimit& limit, const MeasuredPeak* known, double reached,
                               std::vector<MeasuredPeak>& learned) {
  try {
    double value = known == nullptr ? limit.measure() : known->value;
    const bool is_exceeded = limit.kind == DeviceLimit::Kind::kProductFlops && value < reached;
    if (is_exceeded) value = std::max(value, limit.measure());
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
        value_of(limit, found == known.end() ? nullptr : &*found, request.reached, learned);
    if (!value) continue;
    switch (limit.kind) {
      case DeviceLimit::Kind::kProductFlops: limits.product_flops = *value; break;
      case DeviceLimit::Kind::kBandwidth: limits.bandwidth = *value; break;
      case DeviceLimit::Kind::kPageFault: limits.page_fault = *value; break;
    }
  }
  return limits;
}

}  // namespace laptime
