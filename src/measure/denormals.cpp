// Compares early with late steps, and looks at the exponents of states.
#include "measure/denormals.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "distribution/median.h"

namespace laptime {
namespace {

// Numbers whose exponent bits are all zero, but not their mantissa.
template <class Bits>
int64_t count_small(std::span<const std::byte> values, Bits exponent, Bits mantissa) {
  int64_t count = 0;
  for (size_t at = 0; at + sizeof(Bits) <= values.size(); at += sizeof(Bits)) {
    Bits bits{};
    std::memcpy(&bits, values.data() + at, sizeof(Bits));
    count += (bits & exponent) == 0 && (bits & mantissa) != 0 ? 1 : 0;
  }
  return count;
}

}  // namespace

bool has_slowed_down(const Sampling& sampling) {
  constexpr size_t kFewest = 8;
  constexpr double kClearly = 1.25;
  if (sampling.steps.size() < kFewest) return false;
  std::vector<double> seconds;
  for (const Timeline& step : sampling.steps) seconds.push_back(step.total().count());
  const auto quarter = static_cast<std::ptrdiff_t>(seconds.size() / 4);
  const double early = median(std::vector<double>(seconds.begin() + 1, seconds.begin() + 1 + quarter));
  const double late = median(std::vector<double>(seconds.end() - quarter, seconds.end()));
  return late >= kClearly * early;
}

int64_t count_denormals(std::span<const std::byte> values, DType dtype) {
  switch (dtype) {
    case DType::kFloat32: return count_small<uint32_t>(values, 0x7F800000U, 0x007FFFFFU);
    case DType::kFloat64: return count_small<uint64_t>(values, 0x7FF0000000000000U, 0x000FFFFFFFFFFFFFU);
    case DType::kBFloat16: return count_small<uint16_t>(values, 0x7F80U, 0x007FU);
    case DType::kFloat16: return count_small<uint16_t>(values, 0x7C00U, 0x03FFU);
    default: return 0;
  }
}

int64_t count_denormals(const Executor& executor) {
  int64_t count = 0;
  for (const Buffer& buffer : executor.plan().buffers) {
    const bool is_state = buffer.role == Role::kParameter || buffer.role == Role::kOptimizerState;
    if (!is_state || buffer.name.empty()) continue;
    count += count_denormals(executor.read_source(buffer.name), buffer.type.dtype);
  }
  return count;
}

}  // namespace laptime
