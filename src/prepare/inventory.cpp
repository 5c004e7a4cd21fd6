// Lists the kernels of a kernel table.
#include "prepare/inventory.h"

#include "prepare/device.h"

namespace laptime {

std::vector<KernelText> list_kernels() {
  RunConfig config;
  config.device = "cpu";
  const Device device = find_device(config);
  std::vector<KernelText> texts;
  for (const OpCard* op : device.kernels->ops()) {
    texts.push_back({op->name, device.name, {}});
    for (const Kernel& kernel : device.kernels->of(*op)) texts.back().kernels.push_back(kernel.name);
  }
  return texts;
}

}  // namespace laptime
