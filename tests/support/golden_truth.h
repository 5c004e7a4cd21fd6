// The values of a golden file, in the same form as the values of a run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "data/golden.h"
#include "data/golden_compare.h"

namespace laptime::test {

inline constexpr Precision kFloat32 = Precision::kFloat32;
inline constexpr Precision kBFloat16 = Precision::kBFloat16;

// The whole tensor: true values where they are stored, and zeros elsewhere.
inline std::vector<double> truth_of(const GoldenCase& golden, const std::string& key) {
  const GoldenTensor stored = stored_tensor(golden, key);
  if (stored.positions.empty()) return stored.values;
  size_t numel = 1;
  for (const int64_t size : golden.norms.at(key).shape) numel *= static_cast<size_t>(size);
  std::vector<double> whole(numel);
  for (size_t i = 0; i < stored.values.size(); ++i) whole[static_cast<size_t>(stored.positions[i])] = stored.values[i];
  return whole;
}

inline Comparison compare(const GoldenCase& golden, Precision precision, const std::string& key,
                          const std::vector<double>& values) {
  return compare_tensor<double>(golden, precision, key, values);
}

}  // namespace laptime::test
