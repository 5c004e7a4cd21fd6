// A device with two kernels for each matrix product, so that every machine has a choice of kernels.
#pragma once

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "prepare/device.h"

namespace laptime::test {

// Adds a copy named "twin" of the first kernel of each matrix product.
inline Device with_twins(Device device) {
  std::vector<Kernel> kernels;
  for (const OpCard* const op : device.kernels->ops()) {
    const std::span<const Kernel> known = device.kernels->of(*op);
    kernels.insert(kernels.end(), known.begin(), known.end());
    const std::string_view name = op->name;
    if (name != "matmul" && name != "linear") continue;
    kernels.push_back(known.front());
    kernels.back().name = "twin";
  }
  device.kernels = std::make_shared<const KernelTable>(std::move(kernels));
  return device;
}
inline Device find_device_with_twins(const RunConfig& config) { return with_twins(find_device(config)); }

}  // namespace laptime::test
