// Verification: comparisons of our engine with a golden file, as data that reports can show.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "data/comparison.h"

namespace laptime {

// Comparisons of one kind: "float32 gradients".
struct VerifiedGroup {
  std::string name;
  std::vector<Comparison> comparisons;

  bool pass() const { return std::ranges::all_of(comparisons, &Comparison::pass); }
};

struct VerifiedFile {
  std::string model;    // "tiny_2025.safetensors: edition 2025, 2 layers, ..."
  std::string machine;  // "eager, cpu, avx512, 2 threads"
  std::vector<VerifiedGroup> groups;
  std::string refused;  // why the run was impossible, for example for lack of memory; such a file does not pass

  bool pass() const { return refused.empty() && !groups.empty() && std::ranges::all_of(groups, &VerifiedGroup::pass); }
};

}  // namespace laptime
