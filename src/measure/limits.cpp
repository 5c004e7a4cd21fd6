// Looks up or measures the limits of a device.
#include "measure/limits.h"

#include <algorithm>

#include "base/error.h"

namespace laptime {

MeasuredLimits measure_limits(Backend& backend, DType factors, bool bandwidth, const std::vector<MeasuredPeak>& known,
                              std::vector<MeasuredPeak>& learned) {
  MeasuredLimits limits;
  for (const DeviceLimit& limit : backend.limits(factors)) {
    if (limit.kind == DeviceLimit::Kind::kBandwidth && !bandwidth) continue;
    auto found =
        std::find_if(known.begin(), known.end(), [&](const MeasuredPeak& peak) { return peak.name == limit.name; });
    double value = 0;
    if (found != known.end()) {
      value = found->value;
    } else {
      try {
        value = limit.measure();
      } catch (const OutOfMemory&) {
        continue;  // the limit stays unknown
      }
      learned.push_back({{}, limit.name, value, limit.unit, {}});
    }
    switch (limit.kind) {
      case DeviceLimit::Kind::kProductFlops: limits.product_flops = value; break;
      case DeviceLimit::Kind::kBandwidth: limits.bandwidth = value; break;
      case DeviceLimit::Kind::kPageFault: limits.page_fault = value; break;
    }
  }
  return limits;
}

}  // namespace laptime
