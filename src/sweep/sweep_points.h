// Makes the points of a sweep, the variants of a point that save memory, and the points of an ablation, which lowers
// composites one by one. Checks points before anything runs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "points/expand.h"
#include "prepare/resolved_point.h"

namespace laptime {

// Replaces every point of the sweep by points in compile mode: one lowers nothing, one lowers all composites of the
// step, and for each composite, one lowers only this composite. Throws Error if the sweep sets --keep, --lower, or a
// mode other than compile.
std::vector<SweepPoint> expand_ablation(Sweep sweep);

// Variants of the point: without memory savings; with one of them (recomputation, the optimizer in backward, moments in
// bfloat16, or micro-batches); and with several. Combinations that the point's options exclude are omitted.
std::vector<SweepPoint> expand_savings(const SweepPoint& point);

// The points of a sweep: its ablation if requested, otherwise the product of its axes.
std::vector<SweepPoint> points_of(const Sweep& sweep);

struct UsedFile {
  std::string what;  // for messages: "the weights file"
  std::filesystem::path path;
};

// The sweep file, and the files of the points: models, machines, weights, data and kernels.
std::vector<UsedFile> input_files(const Sweep& sweep, const std::vector<SweepPoint>& points);

// The points with their devices. A point is invalid if its device does not exist, or if its files cannot be read or do
// not fit the model. Throws Error with the first reason if no valid point remains. Points that run on other machines
// get no device.
enum class RunsOn : uint8_t { kThisMachine, kOtherMachines };
std::vector<ResolvedPoint> check_inputs(std::vector<SweepPoint> points, RunsOn where = RunsOn::kThisMachine);

}  // namespace laptime
