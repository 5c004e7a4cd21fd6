// Looks up or measures the limits of a device.
#include "measure/limits.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/ranges.h"

namespace laptime {
namespace {

// The rate that the run reached, for comparison with a limit of this kind; 0 if unknown.
double reached_of(DeviceLimit::Kind kind, const LimitsRequest& request) {
  switch (kind) {
    case DeviceLimit::Kind::kProductFlops: return request.reached;
    case DeviceLimit::Kind::kBandwidth: return request.reached_bandwidth;
    case DeviceLimit::Kind::kPageFault: return 0;
  }
  return 0;
}

// How many times to remeasure a limit that the run has exceeded. A host may withhold half of a guest's processors for
// seconds.
constexpr int kMostAgain = 4;

constexpr std::string_view kProvisional = "/provisional";  // suffix for the name of a stored limit

struct KnownLimit {
  double value = 0;
  bool is_estimate = false;
  std::string measured_at;  // empty: measured now
};

// Returns the known value, or measures the limit if no value or only a provisional one is known. Measures the limit
// again if the run has exceeded it. The FLOP/s of a run are not used as a peak, because they include masked FLOPs,
// which kernels skip. None if memory does not suffice for the measurement.
std::optional<KnownLimit> value_of(const DeviceLimit& limit, const std::vector<MeasuredPeak>& known,
                                   const LimitsRequest& request, std::vector<MeasuredPeak>& learned) {
  const double reached = reached_of(limit.kind, request);
  const std::string provisional = limit.name + std::string(kProvisional);
  const auto peak_of = [&](double value) { return MeasuredPeak{{}, limit.name, value, limit.unit, {}}; };
  try {
    const MeasuredPeak* const kept = find_in(known, limit.name, &MeasuredPeak::name);
    LimitReading best = kept == nullptr ? limit.measure() : LimitReading(kept->value);
    // Only the measurement of the product peak tells whether the result is an estimate. Other limits are provisional if
    // the run was disturbed.
    const bool tells_estimates = limit.kind == DeviceLimit::Kind::kProductFlops;
    const MeasuredPeak* const earlier = kept == nullptr ? find_in(known, provisional, &MeasuredPeak::name) : nullptr;
    if (earlier != nullptr && (best.is_estimate || !tells_estimates))
      best.value = better_of(*earlier, peak_of(best.value)).value;
    const bool is_exceeded = best.value < reached;
    for (int again = 0; again < kMostAgain && best.value < reached; ++again) {
      const LimitReading reading = limit.measure();
      if (reading.value > best.value && (best.is_estimate || !reading.is_estimate)) best = reading;
    }
    if (is_exceeded && limit.kind == DeviceLimit::Kind::kBandwidth) best.value = std::max(best.value, reached);
    const bool is_provisional = kept == nullptr && (tells_estimates ? best.is_estimate : request.disturbed);
    if (kept == nullptr || is_exceeded) {
      learned.push_back(peak_of(best.value));
      if (is_provisional) learned.back().name = provisional;
    }
    const MeasuredPeak* const stored = kept != nullptr ? kept : earlier;
    const bool is_stored = stored != nullptr && stored->value == best.value;
    return KnownLimit{best.value, best.is_estimate, is_stored ? stored->created : ""};
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
    const std::optional<KnownLimit> found = value_of(limit, known, request, learned);
    if (!found) continue;
    switch (limit.kind) {
      case DeviceLimit::Kind::kProductFlops:
        limits.product_flops = found->value;
        limits.product_flops_at = found->measured_at;
        limits.product_flops_estimated = found->is_estimate;
        break;
      case DeviceLimit::Kind::kBandwidth: limits.bandwidth = found->value; break;
      case DeviceLimit::Kind::kPageFault: limits.page_fault = found->value; break;
    }
  }
  return limits;
}

double memory_bandwidth_reached(const StepTrace& trace) {
  constexpr int64_t kTimesTheCache = 4;
  double reached = 0;
  for (size_t i = 0; i < trace.launch_count() && trace.cache_bytes; ++i) {
    const auto work_class = static_cast<size_t>(trace.launches.work_class[i]);
    if (trace.texts[work_class] == name_of(WorkClass::kCommunication)) continue;  // its bytes cross a link, not memory
    const int64_t bytes = trace.launches.bytes[i];
    const double seconds = trace.mean_seconds(i);
    if (bytes >= kTimesTheCache * *trace.cache_bytes && seconds > 0)
      reached = std::max(reached, static_cast<double>(bytes) / seconds);
  }
  return reached;
}

}  // namespace laptime
