// Prediction against availability.
#include "run/memory_check.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/units.h"
#include "run/process_memory.h"

namespace laptime {
namespace {

constexpr double kUsable = 0.95;

std::vector<std::pair<std::string, int64_t>> parts(const Plan& plan) {
  std::vector<std::pair<std::string, int64_t>> parts;
  int64_t listed = 0;
  for (int role = 0; role < kRoleCount; ++role) {
    const int64_t bytes = plan.peak_bytes_by_role[static_cast<size_t>(role)];
    listed += bytes;
    if (bytes > 0) parts.emplace_back(name_of(static_cast<Role>(role)), bytes);
  }
  if (const int64_t gaps = plan.predicted_peak_bytes() - listed; gaps > 0) parts.emplace_back("gaps", gaps);
  std::stable_sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  return parts;
}

}  // namespace

std::string memory_arithmetic(const Plan& plan) {
  std::vector<std::string> terms;
  for (const auto& [name, bytes] : parts(plan)) terms.push_back(fmt::format("{} {}", name, format_bytes(bytes)));
  return fmt::format("{} = {}", format_bytes(plan.predicted_peak_bytes()), fmt::join(terms, " + "));
}

AvailableMemory memory_left(const Device& device) {
  return device.memory_bytes ? AvailableMemory{*device.memory_bytes, device.name} : available_memory();
}

int64_t usable_of(const AvailableMemory& available) {
  return static_cast<int64_t>(kUsable * static_cast<double>(available.bytes));
}

void check_memory(const Plan& plan, const Device& device, int64_t limit, Record& record) {
  record.memory.predicted_peak_bytes = plan.predicted_peak_bytes();
  for (const auto& [name, bytes] : parts(plan)) record.memory.parts[name] = bytes;
  const AvailableMemory available = memory_left(device);
  if (limit > 0 && plan.predicted_peak_bytes() > limit) {
    throw OutOfMemory(plan.predicted_peak_bytes(), limit,
                      fmt::format("predicted: {}; --memory-limit is {}", memory_arithmetic(plan), format_bytes(limit)));
  }
  if (plan.predicted_peak_bytes() <= usable_of(available)) return;
  throw OutOfMemory(plan.predicted_peak_bytes(), available.bytes,
                    fmt::format("predicted: {}; 95 % of {} ({}) are usable", memory_arithmetic(plan),
                                format_bytes(available.bytes), available.bound_by));
}

void fill_memory(const Plan& plan, const Backend& backend, Record& record) {
  record.memory.predicted_peak_bytes = plan.predicted_peak_bytes();
  record.memory.parts.clear();
  for (const auto& [name, bytes] : parts(plan)) record.memory.parts[name] = bytes;
  record.memory.peak_bytes = backend.peak_held_bytes();
  if (backend.computes()) record.memory.peak_rss_bytes = peak_resident_bytes();
}

}  // namespace laptime
