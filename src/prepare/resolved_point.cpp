// Finds the device of a point, or the reason why there is none.
#include "prepare/resolved_point.h"

#include <utility>

#include "base/error.h"

namespace laptime {

ResolvedPoint::ResolvedPoint(SweepPoint point, const FindDevice& find) : SweepPoint(std::move(point)) {
  refusal = invalid;
  if (!refusal.empty()) return;
  try {
    refusal = unsupported_reason(config);
    if (!refusal.empty()) return;
    device = find(config);
    device_key = laptime::device_key(*device);
  } catch (const Error& error) {
    refuse(error.what());
  }
}

void ResolvedPoint::refuse(const std::string& reason) {
  invalid = refusal = reason;
  device.reset();
  device_key.clear();
}

std::vector<ResolvedPoint> resolved(std::vector<SweepPoint> points) {
  std::vector<ResolvedPoint> all;
  all.reserve(points.size());
  for (SweepPoint& point : points) all.emplace_back(std::move(point));
  return all;
}

}  // namespace laptime
