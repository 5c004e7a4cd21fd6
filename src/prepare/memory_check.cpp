// Compares predicted with available memory.
#include "prepare/memory_check.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/units.h"
#include "base/words.h"
#include "plan/live_bytes.h"

namespace laptime {
namespace {

constexpr const char* kLimit = "--memory-limit";

int64_t step_bytes(const Plan& plan, const MemoryBound& bound) {
  return bound.pools_steps ? plan.live_peak_bytes : plan.arena_bytes;
}

std::vector<std::pair<std::string, int64_t>> parts(const Plan& plan, const MemoryBound& bound) {
  std::vector<std::pair<std::string, int64_t>> parts;
  int64_t listed = 0;
  for (int role = 0; role < kRoleCount; ++role) {
    const int64_t bytes = plan.peak_bytes_by_role[static_cast<size_t>(role)];
    listed += bytes;
    if (bytes > 0) parts.emplace_back(name_of(static_cast<Role>(role)), bytes);
  }
  const int64_t placed = plan.resident_bytes + step_bytes(plan, bound);
  if (const int64_t gaps = placed - listed; gaps > 0) parts.emplace_back("gaps", gaps);
  const int64_t rounding = predicted_peak_bytes(plan, bound) - placed;
  if (rounding > 0) parts.emplace_back("rounding", rounding);
  std::stable_sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  return parts;
}

std::vector<TensorUse> largest_tensors(const Plan& plan) {
  constexpr size_t kMaxTensors = 12;
  std::vector<TensorUse> uses;
  for (const int index : alive_at_peak(plan)) {
    if (uses.size() == kMaxTensors) break;
    const Buffer& buffer = plan.buffers[static_cast<size_t>(index)];
    TensorUse use{.name = buffer.name,
                  .op = buffer.op,
                  .scope = buffer.scope,
                  .phase = name_of(buffer.phase),
                  .role = name_of(buffer.role),
                  .dtype = {},
                  .shape = {},
                  .bytes = buffer.bytes};
    if (buffer.role != Role::kWorkspace) {
      use.dtype = name_of(buffer.type.dtype);
      use.shape = {buffer.type.shape().begin(), buffer.type.shape().end()};
    }
    uses.push_back(std::move(use));
  }
  return uses;
}

}  // namespace

int64_t predicted_peak_bytes(const Plan& plan, const MemoryBound& bound) {
  return (Size(bound.held(plan.resident_bytes)) + bound.held(step_bytes(plan, bound))).value();
}

MemoryUse forecast_memory(const Plan& plan, const MemoryBound& bound) {
  MemoryUse memory;
  memory.predicted_peak_bytes = predicted_peak_bytes(plan, bound);
  for (const auto& [name, bytes] : parts(plan, bound)) memory.parts[name] = bytes;
  memory.resident_bytes = plan.resident_bytes;
  memory.after_forward_bytes = bytes_after(plan, Phase::kForward);
  memory.after_backward_bytes = bytes_after(plan, Phase::kBackward);
  memory.largest = largest_tensors(plan);
  return memory;
}

std::string memory_arithmetic(const Plan& plan, const MemoryBound& bound) {
  std::vector<std::string> terms;
  for (const auto& [name, bytes] : parts(plan, bound)) terms.push_back(fmt::format("{} {}", name, format_bytes(bytes)));
  return fmt::format("{} = {}", format_bytes(predicted_peak_bytes(plan, bound)), joined(terms, " + "));
}

MemoryBound memory_bound(const RunConfig& config, const Device& device) {
  MemoryBound bound;
  bound.held_bytes = device.held_bytes;
  bound.pools_steps = device.pools_steps;
  const AvailableMemory available = device.memory_bytes ? AvailableMemory{*device.memory_bytes, device.name}
                                                        : available_memory(device.threads.value_or(1));
  std::string origin;
  if (available.bytes) {
    // All ranks on a CPU share its memory.
    const int64_t shared_by = device.memory_bytes ? 1 : config.ranks;
    bound.bytes = static_cast<int64_t>(kUsableFraction * static_cast<double>(*available.bytes / shared_by));
    origin =
        fmt::format("{:.0f} % of {}, {}", 100 * kUsableFraction, format_bytes(*available.bytes), available.bound_by);
    if (shared_by > 1) origin += fmt::format(", shared by {} ranks", shared_by);
  }
  if (config.memory_limit) {
    const int64_t limit = parse_bytes(kLimit, *config.memory_limit);
    if (!bound.bytes || limit <= *bound.bytes) {
      bound.bytes = limit;
      origin = kLimit;
    }
  }
  bound.text = bound.bytes ? fmt::format("the step may use {} ({})", format_bytes(*bound.bytes), origin)
                           : "the memory available to the step is unknown";
  return bound;
}

std::string memory_shortage(const Plan& plan, const MemoryBound& bound, const std::string& advice) {
  if (bound.fits(predicted_peak_bytes(plan, bound))) return {};
  return fmt::format("predicted: {}; {}{}{}", memory_arithmetic(plan, bound), bound.text, advice.empty() ? "" : "; ",
                     advice);
}

}  // namespace laptime
