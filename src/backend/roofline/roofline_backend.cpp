// The virtual clock.
#include "backend/roofline/roofline_backend.h"

#include <algorithm>

namespace laptime::roofline {
namespace {

// Bytes that exist in the books only.
class PaperMemory : public DeviceMemory {
 public:
  PaperMemory(int64_t bytes, int64_t& held) : bytes_(bytes), held_(held) { held_ += bytes_; }
  ~PaperMemory() override { held_ -= bytes_; }
  std::byte* data() override { return nullptr; }

 private:
  int64_t bytes_;
  int64_t& held_;
};

}  // namespace

RooflineBackend::RooflineBackend(const Device& device, std::span<const OpCard* const> ops, bool tf32) : device_(device), tf32_(tf32) {
  for (const OpCard* op : ops) kernels_[op] = {.op = op, .name = "roofline"};
}

std::string RooflineBackend::name() const { return std::string("roofline:") + device_.name; }

std::span<const Kernel> RooflineBackend::kernels(const OpCard& op) const {
  const auto found = kernels_.find(&op);
  return found == kernels_.end() ? std::span<const Kernel>{} : std::span(&found->second, 1);
}

std::unique_ptr<DeviceMemory> RooflineBackend::allocate(int64_t bytes) {
  if (bytes > device_.memory - held_) throw OutOfMemory(bytes, device_.memory - held_);
  return std::make_unique<PaperMemory>(bytes, held_);
}

void RooflineBackend::launch(const Launch& launch) {
  double peak = device_.float32;
  if (launch.kernel->op->kind == OpKind::kContraction) {
    const DType dtype = launch.out[0].type.dtype;
    peak = tf32_ && dtype == DType::kFloat32 && device_.tf32 > 0 ? device_.tf32 : device_.peak(dtype);
  }
  const double seconds = std::max(launch.flops / peak, static_cast<double>(launch.bytes) / device_.bandwidth);
  clock_ += Seconds{seconds + device_.launch_seconds};
}

}  // namespace laptime::roofline
