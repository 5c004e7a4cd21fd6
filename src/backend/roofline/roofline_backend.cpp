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

std::vector<Kernel> roofline_kernels(std::span<const OpCard* const> ops) {
  std::vector<Kernel> kernels;
  for (const OpCard* op : ops) kernels.push_back({.op = op, .name = "roofline"});
  return kernels;
}

RooflineBackend::RooflineBackend(DataSheet machine, std::shared_ptr<const KernelTable> kernels, LaunchTimes times)
    : machine_(std::move(machine)), times_(std::move(times)), kernels_(std::move(kernels)) {}

RooflineBackend::RooflineBackend(const DataSheet& machine, std::span<const OpCard* const> ops, double product_peak)
    : RooflineBackend(machine, std::make_shared<KernelTable>(roofline_kernels(ops)),
                      LaunchTimes(machine, product_peak)) {}

std::string RooflineBackend::name() const { return std::string(kMachinePrefix) + machine_.name; }

std::unique_ptr<DeviceMemory> RooflineBackend::allocate(int64_t bytes, Contents) {
  if (bytes > machine_.memory - usage_.held) throw OutOfMemory(bytes, machine_.memory - usage_.held);
  return std::make_unique<NullMemory>(bytes, usage_);
}

void RooflineBackend::synchronize() {
  clock_ = now();
  kernels_time_ = host_time_ = 0;
}

void RooflineBackend::mark(size_t index) {
  if (index >= marks_.size()) marks_.resize(index + 1);
  marks_[index] = now();
}

void RooflineBackend::launch(const Launch& launch) {
  kernels_time_ += times_.kernel(
      work_of(*launch.kernel->op, launch.in, launch.out, launch.flops, static_cast<double>(launch.bytes)));
  host_time_ += times_.host(Phase::kForward);  // in laptime, a launch takes the same host time in every phase
}

}  // namespace laptime::roofline
