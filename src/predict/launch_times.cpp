// Times of tiles, bytes and launches. The constants apply to all machines; tools/fit_machines uses the same formulas.
#include "predict/launch_times.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace laptime {
namespace {

// A tile of a matrix product on one processor. Smaller tiles leave fewer processors idle but read their operands more
// often.
struct Tile {
  int64_t edge = 0;
  double efficiency = 0;
};
constexpr std::array kTiles{Tile{128, 1.0}, Tile{64, 0.7}};
constexpr double kTileArea = 128 * 128;
constexpr double kTileLatency = 0.9e-6;  // s, to fill and drain the pipeline for a tile of kTileArea
constexpr double kKernelFloor = 2e-6;    // s, for a kernel that does nothing
constexpr double kCacheGain = 3;         // cache bandwidth divided by memory bandwidth
constexpr double kCacheShare = 0.5;      // share of the cache that is free for the operands of one launch
constexpr double kOptimizerHost = 0.5;   // share of a forward op's host time: no module, no gradient to record
constexpr double kOverlap = 4;           // exponent of the mean of two queues: the result is close to the longer one

}  // namespace

LaunchTimes::LaunchTimes(DataSheet machine, double product_peak, Program program, Mode mode)
    : machine_(std::move(machine)), product_peak_(product_peak), program_(program), mode_(mode) {}

double LaunchTimes::memory(double bytes) const {
  if (is_bound()) return bytes / machine_.usable_bandwidth();
  const double cached = std::min(1.0, kCacheShare * static_cast<double>(machine_.cache) / std::max(bytes, 1.0));
  const double hot = cached * cached;
  return bytes * (1 - hot + hot / kCacheGain) / (machine_.bandwidth * machine_.reached_bandwidth);
}

double LaunchTimes::reached_share() const {
  return product_peak_ != machine_.usable_float32() ? machine_.reached_tensor : machine_.reached_float32;
}

double LaunchTimes::product(const OutputMatrices& written, double flops) const {
  const double rate = product_peak_ * reached_share();
  if (written.count == 0) return flops / rate;
  const auto elements = static_cast<double>(written.count * written.rows * written.columns);
  const auto processors = static_cast<double>(machine_.processors);
  double waves = std::numeric_limits<double>::infinity();  // number of waves of tiles of kTileArea
  for (const Tile& tile : kTiles) {
    const auto along = [&](int64_t size) { return (size + tile.edge - 1) / tile.edge; };
    const auto tiles = static_cast<double>(written.count * along(written.rows) * along(written.columns));
    const auto area = static_cast<double>(tile.edge * tile.edge);
    waves = std::min(waves, std::ceil(tiles / processors) * area / kTileArea / tile.efficiency);
  }
  return waves * (kTileArea * flops / elements * processors / rate + kTileLatency);
}

double LaunchTimes::kernel(const OpCard& op, const OutputMatrices& written, double flops, int64_t bytes) const {
  const bool is_product = op.kind == OpKind::kContraction;
  const double moved = memory(static_cast<double>(bytes));
  if (is_bound()) return std::max(flops / (is_product ? product_peak_ : machine_.usable_float32()), moved);
  const double computed = is_product ? product(written, flops) : flops / (machine_.float32 * reached_share());
  return std::max(computed, moved) + kKernelFloor;
}

double LaunchTimes::host(Phase phase) const {
  if (is_bound()) return machine_.launch;
  // A step that is recorded once is started with a single launch.
  if (program_ == Program::kLaptime) return mode_ == Mode::kEager ? machine_.launch : 0;
  if (phase == Phase::kOptimizer) return kOptimizerHost * machine_.host_forward;
  if (program_ == Program::kPyTorchCompile) return machine_.host_compiled;
  return phase == Phase::kBackward ? machine_.host_backward : machine_.host_forward;
}

double LaunchTimes::together(double kernels, double hosts) const {
  if (is_bound()) return kernels + hosts;
  const double longer = std::max(kernels, hosts);
  if (longer <= 0) return 0;
  return longer * std::pow(1 + std::pow(std::min(kernels, hosts) / longer, kOverlap), 1 / kOverlap);
}

std::optional<PublishedRuns> LaunchTimes::published() const {
  const PublishedRuns& runs = mode_ == Mode::kEager ? machine_.eager : machine_.compile;
  return is_bound() || runs.figures == 0 ? std::nullopt : std::optional(runs);
}

}  // namespace laptime
