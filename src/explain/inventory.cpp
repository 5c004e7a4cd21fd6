// Tables of the backends, read out.
#include "explain/inventory.h"

#include <fmt/format.h>

#include <algorithm>

#include "backend/cpu/cores.h"
#include "backend/roofline/device_table.h"
#include "base/isa.h"
#include "base/units.h"
#include "ops/kernels_cpu.h"

namespace laptime {

std::vector<DeviceText> list_devices() {
  std::vector<DeviceText> texts{{"cpu", fmt::format("this machine: {} threads, {} kernels", cpu::default_threads(),
                                                    cpu::name_of(cpu::widest_isa()))}};
  for (const roofline::Device& device : roofline::devices()) {
    texts.push_back({fmt::format("roofline:{}", device.name),
                     fmt::format("{}, predicted: float32 {}/s, bfloat16 {}/s, {}/s, {}", device.title,
                                 format_flops(device.float32), format_flops(device.peak(DType::kBFloat16)),
                                 format_bytes(static_cast<int64_t>(device.bandwidth)), format_bytes(device.memory))});
  }
  return texts;
}

std::vector<KernelText> list_kernels() {
  std::vector<KernelText> texts;
  for (const Kernel& kernel : cpu_kernels(cpu::widest_isa())) {
    auto found =
        std::find_if(texts.begin(), texts.end(), [&](const KernelText& text) { return text.op == kernel.op->name; });
    if (found == texts.end()) found = texts.insert(texts.end(), {kernel.op->name, "cpu", {}});
    found->kernels.push_back(kernel.name);
  }
  return texts;
}

}  // namespace laptime
