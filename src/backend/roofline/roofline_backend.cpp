// Advances the virtual clock, and counts memory.
#include "backend/roofline/roofline_backend.h"

#include <algorithm>
#include <utility>

namespace laptime::roofline {

// Counts allocated bytes without allocating memory.
class RooflineBackend::NullMemory : public DeviceMemory {
 public:
  NullMemory(int64_t bytes, MemoryUsage& usage) : bytes_(bytes), usage_(usage) {
    usage_.held += bytes_;
    usage_.peak = std::max(usage_.peak, usage_.held);
  }
  ~NullMemory() override { usage_.held -= bytes_; }
  std::byte* data() override { return nullptr; }

 private:
  int64_t bytes_;
  MemoryUsage& usage_;
};

double seconds_of(const DataSheet& machine, double product_peak, const OpCard& op, double flops, int64_t bytes) {
  const double peak = op.kind == OpKind::kContraction ? product_peak : machine.usable_float32();
  return std::max(flops / peak, static_cast<double>(bytes) / machine.usable_bandwidth()) + machine.launch;
}

std::vector<Kernel> roofline_kernels(std::span<const OpCard* const> ops) {
  std::vector<Kernel> kernels;
  for (const OpCard* op : ops) kernels.push_back({.op = op, .name = "roofline"});
  return kernels;
}

RooflineBackend::RooflineBackend(DataSheet machine, std::shared_ptr<const KernelTable> kernels, double product_peak)
    : machine_(std::move(machine)), product_peak_(product_peak), kernels_(std::move(kernels)) {}

RooflineBackend::RooflineBackend(DataSheet machine, std::span<const OpCard* const> ops, double product_peak)
    : RooflineBackend(std::move(machine), std::make_shared<KernelTable>(roofline_kernels(ops)), product_peak) {}

std::string RooflineBackend::name() const { return std::string(kMachinePrefix) + machine_.name; }

std::unique_ptr<DeviceMemory> RooflineBackend::allocate(int64_t bytes, Contents) {
  if (bytes > machine_.memory - usage_.held) throw OutOfMemory(bytes, machine_.memory - usage_.held);
  return std::make_unique<NullMemory>(bytes, usage_);
}

void RooflineBackend::mark(size_t index) {
  if (index >= marks_.size()) marks_.resize(index + 1);
  marks_[index] = clock_;
}

void RooflineBackend::launch(const Launch& launch) {
  clock_ += Seconds{seconds_of(machine_, product_peak_, *launch.kernel->op, launch.flops, launch.bytes)};
}

}  // namespace laptime::roofline
