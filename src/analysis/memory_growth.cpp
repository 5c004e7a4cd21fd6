// Compares the sizes of corresponding buffers.
#include "analysis/memory_growth.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "analysis/memory_ledger.h"

namespace laptime {
namespace {

// What a buffer is in its step, whatever its size. Several buffers may be alike; they correspond in their order.
std::string identity_of(const TraceBuffer& buffer) {
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}", buffer.name, buffer.op, buffer.scope, buffer.phase, buffer.role,
                     buffer.dtype);
}

// Bytes of the buffers of a step by identity, those that are alike in their order.
std::map<std::string, std::vector<int64_t>> bytes_by_identity(const StepTrace& trace) {
  std::map<std::string, std::vector<int64_t>> bytes;
  for (size_t i = 0; i < trace.buffer_count(); ++i) {
    const TraceBuffer buffer = trace.buffer(i);
    bytes[identity_of(buffer)].push_back(buffer.bytes);
  }
  return bytes;
}

// 0, 1 or 2: the power of `ratio`, above 1, that is nearest to how the bytes grew. The size of a buffer may have terms
// of two powers, as the tables of a mask have.
int nearest_power(int64_t before, int64_t after, double ratio) {
  if (before <= 0 || after <= before) return 0;
  const double power = std::log(static_cast<double>(after) / static_cast<double>(before)) / std::log(ratio);
  return std::clamp(static_cast<int>(std::lround(power)), 0, 2);
}

}  // namespace

std::optional<MemoryGrowth> memory_growth(const StepTrace& at_shorter, int64_t shorter, const StepTrace& at_longer,
                                          int64_t longer) {
  const std::map<std::string, std::vector<int64_t>> before = bytes_by_identity(at_shorter);
  const auto peak = static_cast<int64_t>(MemoryLedger(at_longer).peak_launch());
  const double ratio = static_cast<double>(longer) / static_cast<double>(shorter);
  MemoryGrowth growth;
  std::map<std::string, size_t> met;
  std::map<std::string, int64_t> square_by_op;
  for (size_t i = 0; i < at_longer.buffer_count(); ++i) {
    const TraceBuffer buffer = at_longer.buffer(i);
    const std::string identity = identity_of(buffer);
    const size_t place = met[identity]++;
    if (buffer.first > peak || buffer.last < peak) continue;
    const auto found = before.find(identity);
    if (found == before.end() || place >= found->second.size()) return std::nullopt;
    switch (nearest_power(found->second[place], buffer.bytes, ratio)) {
      case 0: growth.constant += buffer.bytes; break;
      case 1: growth.linear += buffer.bytes; break;
      default: growth.square += buffer.bytes; square_by_op[std::string(buffer.op)] += buffer.bytes;
    }
  }
  const auto most =
      std::ranges::max_element(square_by_op, [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most != square_by_op.end()) growth.square_op = most->first;
  return growth;
}

}  // namespace laptime
