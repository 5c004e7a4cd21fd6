// Helpers for tests with small graphs, and a test device.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "backend/cpu/cpu_backend.h"
#include "backend/roofline/roofline_backend.h"
#include "exec/executor.h"
#include "graph/builder.h"
#include "ops/kernels_cpu.h"
#include "ops/registry.h"
#include "support/training.h"
#include "support/types.h"

namespace laptime::test {

inline std::vector<Kernel> all_cpu_kernels() { return cpu_kernels(cpu::widest_isa()); }

// A device with 1 TFLOP/s, 1 GB/s, 1 MiB of memory and 1 ms per launch.
inline const DataSheet kTestDevice{.name = "paper",
                                   .title = "a test machine",
                                   .memory = 1 << 20,
                                   .bandwidth = 1e9,
                                   .launch = 1e-3,
                                   .float32 = 1e12,
                                   .bfloat16 = 4e12};

inline std::vector<float> floats_of(const std::vector<std::byte>& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

inline void write(Executor& executor, const std::string& source, const std::vector<float>& values) {
  executor.write(source, values.data(), static_cast<int64_t>(values.size() * sizeof(float)));
}

}  // namespace laptime::test
