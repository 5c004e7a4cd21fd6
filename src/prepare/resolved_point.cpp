// Finds the device of a point, or the reason why it has none, and adapts points to other programs.
#include "prepare/resolved_point.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "config/option_table.h"

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

Mode mode_of(Program program) { return program == Program::kPyTorchEager ? Mode::kEager : Mode::kCompile; }

}  // namespace

bool fuses_attention(Program program, Precision dtype) { return program == Program::kMegatron && is_mixed(dtype); }

void set_program(Sweep& sweep, Program program) {
  if (program == Program::kLaptime) return;
  const auto refuse = [&](std::string_view option) {
    throw Error::format("--as {}: the program decides what it fuses, except attention; leave out --{}{}",
                        name_of(program), option,
                        option == "keep" ? fmt::format(", or give --keep {}", kFlashAttention) : "");
  };
  if (sweep.output.ablate) refuse("ablate");
  for (const Axis& axis : sweep.axes) {
    if (axis.flag != "keep" && axis.flag != "lower") continue;
    const std::string_view none = find_option<RunConfig>(axis.flag).value().empty;
    const std::string_view also = axis.flag == "keep" ? kFlashAttention : none;
    if (std::ranges::any_of(axis.values, [&](const std::string& value) { return value != none && value != also; }))
      refuse(axis.flag);
  }
  set_option(sweep, "mode", "--as", {std::string(name_of(mode_of(program)))});
}

RunConfig config_as(RunConfig config, Program program) {
  if (program == Program::kLaptime) return config;
  const bool has_flash_attention = config.keep && config.keep->find(kFlashAttention) != std::string::npos;
  config.is_of_other_program = true;
  config.keep.reset();
  config.lower.reset();
  config.mode = mode_of(program);
  if (config.mode == Mode::kEager) {
    if (has_flash_attention) config.keep = std::string(kFlashAttention);
    return config;
  }
  // torch.compile fuses modules into kernels. It does not replace written-out attention by flash attention, does not
  // fuse the head with the loss, and does not fuse the optimizer. Megatron has a fused optimizer.
  config.lower = has_flash_attention ? "" : fmt::format("{}+", kFlashAttention);
  *config.lower += program == Program::kMegatron ? "linear_cross_entropy" : "linear_cross_entropy+adamw";
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
