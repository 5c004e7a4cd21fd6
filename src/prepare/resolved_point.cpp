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

namespace {

constexpr std::string_view kFlashAttention = "scaled_dot_product_attention";
// torch.compile fuses modules into kernels. It does not replace written-out attention by flash attention, does not fuse
// the head with the loss, and does not fuse the optimizer. Megatron has a fused optimizer.
constexpr std::array<std::string_view, 3> kSplitByTorch{kFlashAttention, "linear_cross_entropy", "adamw"};
constexpr std::array<std::string_view, 2> kSplitByMegatron{kFlashAttention, "linear_cross_entropy"};

}  // namespace

bool fuses_attention(Program program, Precision dtype) { return program == Program::kMegatron && is_mixed(dtype); }

RunConfig config_as(RunConfig config, Program program) {
  if (program == Program::kLaptime) return config;
  const bool has_flash_attention = config.keep && config.keep->find(kFlashAttention) != std::string::npos;
  config.is_of_other_program = true;
  config.keep.reset();
  config.lower.reset();
  if (program == Program::kPyTorchEager) {
    config.mode = Mode::kEager;
    if (has_flash_attention) config.keep = std::string(kFlashAttention);
    return config;
  }
  config.mode = Mode::kCompile;
  const std::vector<std::string> whole = card_of(config.model).kept_by_eager(config.model);
  std::vector<std::string_view> lowered(kSplitByTorch.begin(), kSplitByTorch.end());
  if (program == Program::kMegatron) lowered.assign(kSplitByMegatron.begin(), kSplitByMegatron.end());
  std::erase_if(lowered, [&](std::string_view name) {
    return std::ranges::find(whole, name) != whole.end() || (has_flash_attention && name == kFlashAttention);
  });
  if (!lowered.empty()) config.lower = joined(lowered, "+");
  return config;
}

ResolvedPoint as_program(ResolvedPoint point, Program program) {
  if (program == Program::kLaptime || !point.device) return point;
  if (point.device->computes) {
    throw Error::format(
        "--as {}: predictions for other programs need a described machine; give a --device from laptime list devices, "
        "such as --device roofline:h100",
        name_of(program));
  }
  SweepPoint other = std::move(point);
  if (fuses_attention(program, other.config.dtype)) other.config.keep = std::string(kFlashAttention);
  other.config = config_as(std::move(other.config), program);
  other.name += fmt::format("/as:{}", name_of(program));
  return {std::move(other), [program](const RunConfig& of) { return find_device_of(of, program); }};
}

bool any_can_run(std::span<const ResolvedPoint> points) {
  return std::ranges::any_of(points, [](const ResolvedPoint& point) { return point.refusal.empty(); });
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
