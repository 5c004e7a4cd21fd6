// Compares the sizes of corresponding buffers.
#include "analysis/memory_findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

namespace laptime {
namespace {

// The role of a buffer in its step, regardless of its size. Several buffers may have the same identity; they correspond
// in order.
std::string identity_of(const TraceBuffer& buffer) {
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}", buffer.name, buffer.op, buffer.scope, buffer.phase, buffer.role,
                     buffer.dtype);
}

// Bytes of a step's buffers by identity; buffers with equal identities are in order.
std::map<std::string, std::vector<int64_t>> bytes_by_identity(const StepTrace& trace) {
  std::map<std::string, std::vector<int64_t>> bytes;
  for (size_t i = 0; i < trace.buffer_count(); ++i) {
    const TraceBuffer buffer = trace.buffer(i);
    bytes[identity_of(buffer)].push_back(buffer.bytes);
  }
  return bytes;
}

// 0, 1 or 2: the power of `ratio` (above 1) that is closest to the growth in bytes. A buffer's size may have terms of
// two powers, as mask tables do.
size_t nearest_power(int64_t before, int64_t after, double ratio) {
  if (before <= 0 || after <= before) return 0;
  const double power = std::log(static_cast<double>(after) / static_cast<double>(before)) / std::log(ratio);
  return static_cast<size_t>(std::clamp(std::lround(power), 0L, 2L));
}

}  // namespace

Finding memory_growth_finding(const std::string& name, const StepTrace& at_shorter, int64_t shorter,
                              const StepTrace& at_longer, int64_t longer) {
  const MemoryLedger at_end(at_longer);
  Finding finding{.kind = "memory_growth",
                  .subject = name,
                  .values = Json{{"from_context", shorter},
                                 {"from_bytes", MemoryLedger(at_shorter).planned()},
                                 {"to_context", longer},
                                 {"to_bytes", at_end.planned()}}};
  const std::map<std::string, std::vector<int64_t>> before = bytes_by_identity(at_shorter);
  const auto peak = static_cast<int64_t>(at_end.peak_launch());
  const double ratio = static_cast<double>(longer) / static_cast<double>(shorter);
  std::array<int64_t, 3> bytes{};  // indexed by the power of the context with which they grow
  std::map<std::string, size_t> met;
  std::map<std::string, int64_t> square_by_op;
  for (size_t i = 0; i < at_longer.buffer_count(); ++i) {
    const TraceBuffer buffer = at_longer.buffer(i);
    const std::string identity = identity_of(buffer);
    const size_t place = met[identity]++;
    if (buffer.first > peak || buffer.last < peak) continue;
    const auto found = before.find(identity);
    if (found == before.end() || place >= found->second.size()) return finding;
    const size_t power = nearest_power(found->second[place], buffer.bytes, ratio);
    bytes.at(power) += buffer.bytes;
    if (power == 2) square_by_op[std::string(buffer.op)] += buffer.bytes;
  }
  const auto most = std::ranges::max_element(square_by_op, {}, [](const auto& one) { return one.second; });
  Json& values = finding.values.json();
  values["square_bytes"] = bytes[2];
  values["linear_bytes"] = bytes[1];
  values["constant_bytes"] = bytes[0];
  values["square_op"] = most == square_by_op.end() ? "" : most->first;
  return finding;
}

}  // namespace laptime
