// Finds the device of a point, or the reason why it has none.
#include "prepare/resolved_point.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "base/words.h"
#include "model/model_card.h"

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

// torch.compile fuses modules into kernels, but it does not recognise flash attention in a model with explicit
// attention, join the head with the loss, or fuse the optimizer.
constexpr std::array<std::string_view, 3> kSplitByTorch{"scaled_dot_product_attention", "linear_cross_entropy",
                                                        "adamw"};

ResolvedPoint as_program(ResolvedPoint point, Program program) {
  if (program == Program::kLaptime || !point.device) return point;
  if (point.device->computes) {
    throw Error::format(
        "--as {}: predictions for other programs need a described machine; give a --device from laptime list devices, "
        "such as --device roofline:h100",
        name_of(program));
  }
  SweepPoint other = std::move(point);
  RunConfig& config = other.config;
  config.mode = program == Program::kPyTorchEager ? Mode::kEager : Mode::kCompile;
  config.keep.reset();
  config.lower.reset();
  if (config.mode == Mode::kCompile) {
    const std::vector<std::string> whole = card_of(config.model).kept_by_eager(config.model);
    std::vector<std::string_view> lowered(kSplitByTorch.begin(), kSplitByTorch.end());
    std::erase_if(lowered, [&](std::string_view name) { return std::ranges::find(whole, name) != whole.end(); });
    if (!lowered.empty()) config.lower = joined(lowered, "+");
  }
  other.name += fmt::format("/as:{}", name_of(program));
  return {std::move(other), [program](const RunConfig& of) { return find_device_of(of, program); }};
}

std::vector<ResolvedPoint> resolved(std::vector<SweepPoint> points) {
  std::vector<ResolvedPoint> all;
  all.reserve(points.size());
  for (SweepPoint& point : points) all.emplace_back(std::move(point));
  return all;
}

std::vector<ResolvedPoint> unplaced(std::vector<SweepPoint> points) {
  std::vector<ResolvedPoint> all(points.size());
  for (size_t i = 0; i < points.size(); ++i) {
    static_cast<SweepPoint&>(all[i]) = std::move(points[i]);
    all[i].refusal = all[i].invalid;
  }
  return all;
}

}  // namespace laptime
