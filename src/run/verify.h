// laptime verify: the run of a golden file made again by our engine, and every comparison with it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "config/run_config.h"
#include "data/golden.h"
#include "data/golden_compare.h"
#include "plan/plan.h"

namespace laptime {

// Comparisons of one kind: "float32 gradients".
struct VerifiedGroup {
  std::string name;
  std::vector<Comparison> comparisons;

  bool pass() const;
};

struct VerifiedFile {
  std::string model;    // "tiny_2025.safetensors: edition 2025, 2 layers, ..."
  std::string machine;  // "eager, cpu, avx512, 2 threads"
  std::vector<VerifiedGroup> groups;
  std::string refused;  // why the run could not be made, memory for instance; such a file does not pass

  bool pass() const;
};

// Told what happens next, "bfloat16: step 2 of 10".
using VerifyProgress = std::function<void(const std::string& stage)>;

// Compares the file with itself, then runs the case in float32 and bfloat16 as the options of the engine in `machine`
// say (Option::of_engine; all else in it is ignored): losses, logits, gradients, weights, and in eager
// mode dtypes, bytes saved, peaks. Error for a
// device that computes nothing.
VerifiedFile verify_golden(const GoldenCase& golden, const RunConfig& machine, const VerifyProgress& progress = {});

// The same with the kernels that `choose` picks, rebuilt for each backend.
using ChooserMaker = std::function<ChooseKernel(const Backend& backend)>;
VerifiedFile verify_golden(const GoldenCase& golden, const RunConfig& machine, const ChooserMaker& choose,
                           const VerifyProgress& progress = {});

// Every comparison by group, then one line per group, then every failure again; whole lines of ASCII, names from the
// file aside.
std::string print(const VerifiedFile& file);

}  // namespace laptime
