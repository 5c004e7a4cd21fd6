// The virtual clock.
#include "backend/roofline/roofline_backend.h"

#include <algorithm>

namespace laptime::roofline {

// Bytes that exist in the books only.
class RooflineBackend::Paper : public DeviceMemory {
 public:
  Paper(int64_t bytes, Books& books) : bytes_(bytes), books_(books) {
    books_.held += bytes_;
    books_.peak = std::max(books_.peak, books_.held);
  }
  ~Paper() override { books_.held -= bytes_; }
  std::byte* data() override { return nullptr; }

 private:
  int64_t bytes_;
  Books& books_;
};

RooflineBackend::RooflineBackend(const Device& device, std::span<const OpCard* const> ops, bool tf32)
    : device_(device), tf32_(tf32) {
  for (const OpCard* op : ops) kernels_[op] = {.op = op, .name = "roofline"};
}

std::string RooflineBackend::name() const { return std::string("roofline:") + device_.name; }

std::span<const Kernel> RooflineBackend::kernels(const OpCard& op) const {
  const auto found = kernels_.find(&op);
  return found == kernels_.end() ? std::span<const Kernel>{} : std::span(&found->second, 1);
}

std::unique_ptr<DeviceMemory> RooflineBackend::allocate(int64_t bytes, Contents) {
  if (bytes > device_.memory - books_.held) throw OutOfMemory(bytes, device_.memory - books_.held);
  return std::make_unique<Paper>(bytes, books_);
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
