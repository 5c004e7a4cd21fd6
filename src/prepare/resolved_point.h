// ResolvedPoint: a point of a sweep with the device that runs it, found once and passed on.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "points/expand.h"
#include "prepare/device.h"
#include "prepare/knowledge.h"

namespace laptime {

struct ResolvedPoint : SweepPoint {
  std::optional<Device> device;  // none if the point is rejected or unplaced
  std::string device_key;        // key of stored measurements (prepare/knowledge.h); empty without a device
  std::string refusal;           // why the point cannot run: `invalid`, or a feature that its device does not support

  ResolvedPoint() = default;
  // A point whose device does not exist becomes invalid.
  ResolvedPoint(SweepPoint point, const FindDevice& find = find_device);  // NOLINT(google-explicit-constructor)

  // True if the device predicts times instead of measuring them.
  bool is_predicted() const { return device && !device->computes; }
  bool is_measured() const { return device && device->computes; }
  // Makes the point invalid, with this reason.
  void refuse(const std::string& reason);
};

// True if the program fuses attention by default, as Megatron does in 16-bit types.
bool fuses_attention(Program program, Precision dtype);
// Gives the points of a sweep the mode of `program`, so that their names state it. Throws Error for options that choose
// composites, because the program chooses them; only --keep with attention has an effect.
void set_program(Sweep& sweep, Program program);
// The configuration as `program` runs it on a described machine. Attention is fused if --keep names it.
RunConfig config_as(RunConfig config, Program program);
// The point as `program` runs it on a described machine: in its mode, with its fused composites. Needs set_program() on
// the sweep of the point. Throws Error for a device that computes, because such a device runs only laptime.
ResolvedPoint as_program(ResolvedPoint point, Program program);

std::vector<ResolvedPoint> resolved(std::vector<SweepPoint> points);
// Points without a device, for sweeps that run on machines that are not known yet.
std::vector<ResolvedPoint> unplaced(std::vector<SweepPoint> points);

bool any_can_run(std::span<const ResolvedPoint> points);

}  // namespace laptime
