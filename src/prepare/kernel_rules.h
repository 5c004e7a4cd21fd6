// KernelRules: which kernels the options of a run allow, regardless of what the kernels support.
#pragma once

#include <string>

#include "backend/kernel.h"
#include "config/run_config.h"

namespace laptime {

struct KernelRules {
  Float32Precision float32_precision = Float32Precision::kAuto;
  bool reproducible = false;
  bool tf32 = false;  // float32 products may use tf32

  bool operator==(const KernelRules&) const = default;
};
KernelRules rules_of(const RunConfig& config);

// Part of the key of stored measurements, because the fastest kernel depends on which kernels may run: "" for the
// default rules, otherwise for example "/ieee", "/reproducible" or "/tf32".
std::string key_of(const KernelRules& rules);

// Why the kernel may not run the signature: the kernel's own reason, or a rule. Empty if the kernel may run it.
// `kernel` must be one of `kernels`.
std::string refusal(const Kernel& kernel, const KernelTable& kernels, const Signature& signature,
                    const KernelRules& rules);

}  // namespace laptime
