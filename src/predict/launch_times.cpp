// Times of tiles, bytes and launches. The constants apply to all machines; tools/predicted_times.py has the same
// formulas.
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
constexpr double kTileLatency = 0.9e-6;  // seconds to fill and drain the pipeline of a tile of kTileArea
constexpr double kKernelFloor = 2e-6;    // seconds that an empty kernel takes
constexpr double kCacheGain = 3;         // bandwidth of the cache relative to that of the memory
constexpr double kCacheShare = 0.5;      // fraction of the cache that is free for the operands of one launch
constexpr double kOptimizerHost = 0.5;   // host time relative to a forward op: no module call, no autograd graph
constexpr double kGroupedLaunches = 10;  // tensors per launch of a grouped optimizer
constexpr double kBackwardHost = 0.7;    // host time relative to a forward op: the autograd engine runs in C++
// Megatron's host time per launch, relative to compiled PyTorch: a module launches one fused kernel.
constexpr double kFusedHost = 0.3;
constexpr double kCausalShare = 0.5;  // fraction of attention that remains under a causal mask
// Passes over the stored scores for each product of attention: one by the product itself, and one by softmax.
constexpr double kScorePasses = 2;
constexpr double kStoredScoreBytes = 4;
constexpr double kNarrowHead = 64;  // head width below which exponentials, not products, limit attention
constexpr double kOverlap = 4;      // p of the p-norm of device and host time, which is nearly their maximum
// Rates of laptime's kernels, fitted to its steps on an H100 (docs/records/h100.jsonl): fractions of the bandwidth in
// compile and in eager mode, and the speed of 16-bit products relative to PyTorch. The processors limit eager kernels,
// which therefore reach a larger fraction on machines with more processors per byte/s of bandwidth.
constexpr double kOwnBandwidth = 0.875;
constexpr double kOwnEagerBandwidth = 0.35;
constexpr double kOwnEagerRate = 8.9e9;  // bytes per second of a processor
constexpr double kOwnProducts = 1.25;

}  // namespace

const KnownRuns& known_runs(const DataSheet& machine, Program program, Mode mode) {
  if (program == Program::kLaptime) return mode == Mode::kEager ? machine.laptime_eager : machine.laptime_compile;
  return mode == Mode::kEager ? machine.eager : machine.compile;
}

LaunchTimes::LaunchTimes(DataSheet machine, double product_peak, Program program, Mode mode, bool is_causal,
                         bool is_tf32, bool groups_updates)
    : machine_(std::move(machine)),
      product_peak_(product_peak),
      program_(program),
      mode_(mode),
      is_causal_(is_causal),
      is_tf32_(is_tf32),
      groups_updates_(groups_updates) {}

double LaunchTimes::memory(double bytes) const {
  if (is_bound()) return bytes / machine_.usable_bandwidth();
  const double cached = std::min(1.0, kCacheShare * static_cast<double>(machine_.cache) / std::max(bytes, 1.0));
  const double hot = cached * cached;
  return bytes * (1 - hot + hot / kCacheGain) / (machine_.bandwidth * reached_bandwidth());
}

double LaunchTimes::reached_bandwidth() const {
  if (program_ != Program::kLaptime) return machine_.reached_bandwidth;
  if (mode_ == Mode::kCompile) return kOwnBandwidth;
  return std::clamp(kOwnEagerRate * static_cast<double>(machine_.processors) / machine_.bandwidth, kOwnEagerBandwidth,
                    kOwnBandwidth);
}

bool LaunchTimes::is_float32() const { return !is_tf32_ && product_peak_ == machine_.float32; }

double LaunchTimes::reached_share() const {
  if (is_float32()) return machine_.reached_float32;
  if (is_tf32_) return machine_.reached_tf32;
  return program_ == Program::kLaptime ? std::min(1.0, kOwnProducts * machine_.reached_tensor)
                                       : machine_.reached_tensor;
}

double LaunchTimes::product(const LaunchWork& work) const {
  const OutputMatrices& written = work.written;
  const double rate = product_peak_ * reached_share() * work.speedup;
  if (written.count == 0) return work.flops / rate;
  const auto elements = static_cast<double>(written.count * written.rows * written.columns);
  const auto processors = static_cast<double>(machine_.processors);
  double waves = std::numeric_limits<double>::infinity();  // number of waves of tiles of kTileArea
  for (const Tile& tile : kTiles) {
    const auto along = [&](int64_t size) { return (size + tile.edge - 1) / tile.edge; };
    const auto tiles = static_cast<double>(written.count * along(written.rows) * along(written.columns));
    const auto area = static_cast<double>(tile.edge * tile.edge);
    waves = std::min(waves, std::ceil(tiles / processors) * area / kTileArea / tile.efficiency);
  }
  return waves * (kTileArea * work.flops / elements * processors / rate + kTileLatency);
}

double LaunchTimes::attention(const LaunchWork& work) const {
  const auto width = static_cast<double>(std::max<int64_t>(1, work.written.columns));
  if (program_ == Program::kLaptime && (is_float32() || is_tf32_)) {
    const double scores = work.flops / (2 * width);  // summed over all products of attention
    return work.flops / (product_peak_ * reached_share()) + memory(kScorePasses * kStoredScoreBytes * scores);
  }
  const double flops = work.flops * std::max(1.0, kNarrowHead / width) * (is_causal_ ? kCausalShare : 1);
  return flops / (product_peak_ * machine_.reached_attention);
}

double LaunchTimes::computed(const LaunchWork& work) const {
  switch (work.kind) {
    case LaunchWork::Kind::kProduct: return product(work);
    case LaunchWork::Kind::kAttention: return attention(work);
    case LaunchWork::Kind::kOther: break;
  }
  return work.flops / (machine_.float32 * reached_share());
}

double LaunchTimes::padding(const LaunchWork& work) const {
  const bool pads = work.kind == LaunchWork::Kind::kProduct && program_ == Program::kLaptime && !is_float32();
  return pads && work.unaligned > 0 ? memory(2 * work.unaligned) : 0;  // copying reads and writes the bytes
}

double LaunchTimes::kernel(const LaunchWork& work) const {
  const double moved = memory(work.bytes);
  if (!is_bound()) return std::max(computed(work), moved) + padding(work) + kKernelFloor;
  const bool is_product = work.kind != LaunchWork::Kind::kOther;
  return std::max(work.flops / (is_product ? product_peak_ * work.speedup : machine_.usable_float32()), moved);
}

double LaunchTimes::host(Phase phase) const {
  const double tensors = phase == Phase::kOptimizer && groups_updates_ ? kGroupedLaunches : 1;
  if (is_bound()) return machine_.launch / tensors;
  // Compile mode records the step once and starts it with a single launch.
  if (program_ == Program::kLaptime) return mode_ == Mode::kEager ? machine_.launch : 0;
  if (phase == Phase::kOptimizer) return kOptimizerHost * machine_.host_forward / tensors;
  if (program_ == Program::kPyTorchCompile) return machine_.host_compiled;
  if (program_ == Program::kMegatron) return kFusedHost * machine_.host_compiled;
  return (phase == Phase::kBackward ? kBackwardHost : 1) * machine_.host_forward;
}

double LaunchTimes::together(double kernels, double hosts) const {
  if (is_bound()) return kernels + hosts;
  const double longer = std::max(kernels, hosts);
  if (longer <= 0) return 0;
  return longer * std::pow(1 + std::pow(std::min(kernels, hosts) / longer, kOverlap), 1 / kOverlap);
}

std::optional<KnownRuns> LaunchTimes::known_runs() const {
  const KnownRuns& runs = laptime::known_runs(machine_, program_, mode_);
  return is_bound() || runs.figures == 0 ? std::nullopt : std::optional(runs);
}

}  // namespace laptime
