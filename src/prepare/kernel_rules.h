// KernelRules: which kernels the options of a run allow, whatever the kernels themselves support.
#pragma once

#include <string>

#include "backend/kernel.h"
#include "config/run_config.h"

namespace laptime {

struct KernelRules {
  Float32Precision float32_precision = Float32Precision::kAuto;
  bool reproducible = false;
  bool tf32 = false;  // float32 products may be those of tf32

  bool operator==(const KernelRules&) const = default;
};
KernelRules rules_of(const RunConfig& config);

// Part of the key of stored measurements, since the fastest kernel depends on which ones may run: "" where all may,
// else for example "/ieee", "/reproducible" or "/tf32".
std::string key_of(const KernelRules& rules);

// Why a kernel may not run a signature: its own refusal, or what the rules forbid. Empty if it may. `kernel` is one of
// `kernels`.
std::string refusal(const Kernel& kernel, const KernelTable& kernels, const Signature& signature,
                    const KernelRules& rules);

}  // namespace laptime
