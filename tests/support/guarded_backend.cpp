// Makes the pages of device memory accessible only during transfers and launches.
#include "support/guarded_backend.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace laptime::test {

class GuardedBackend::Memory : public DeviceMemory {
 public:
  Memory(GuardedBackend& owner, int64_t bytes) : owner_(owner), bytes_(std::max<int64_t>(bytes, 1)) {
    data_ = mmap(nullptr, static_cast<size_t>(bytes_), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    LAPTIME_CHECK(data_ != MAP_FAILED, "{} bytes", bytes_);
    owner_.memory_.push_back(this);
    owner_.held_ += bytes_;
    owner_.peak_ = std::max(owner_.peak_, owner_.held_);
  }
  ~Memory() override {
    std::erase(owner_.memory_, this);
    owner_.held_ -= bytes_;
    munmap(data_, static_cast<size_t>(bytes_));
  }
  std::byte* data() override { return static_cast<std::byte*>(data_); }
  void protect(int protection) {
    LAPTIME_CHECK(mprotect(data_, static_cast<size_t>(bytes_), protection) == 0, "mprotect");
  }

 private:
  GuardedBackend& owner_;
  int64_t bytes_;
  void* data_;
};

// Makes all memory accessible for the lifetime of this object.
class GuardedBackend::Open {
 public:
  explicit Open(GuardedBackend& backend) : backend_(backend) {
    const std::lock_guard lock(backend_.mutex_);
    if (backend_.users_++ > 0) return;
    for (Memory* memory : backend_.memory_) memory->protect(PROT_READ | PROT_WRITE);
  }
  ~Open() {
    const std::lock_guard lock(backend_.mutex_);
    if (--backend_.users_ > 0) return;
    for (Memory* memory : backend_.memory_) memory->protect(PROT_NONE);
  }
  Open(const Open&) = delete;
  Open& operator=(const Open&) = delete;

 private:
  GuardedBackend& backend_;
};

std::unique_ptr<DeviceMemory> GuardedBackend::allocate(int64_t bytes, Contents contents) {
  auto memory = std::make_unique<Memory>(*this, bytes);
  const Open open(*this);
  if (contents == Contents::kNan) std::memset(memory->data(), 0xFF, static_cast<size_t>(bytes));
  return memory;
}

void GuardedBackend::launch(const Launch& launch) {
  const Open open(*this);
  cpu_.launch(launch);
}

void GuardedBackend::write(std::byte* device, const std::byte* host, int64_t bytes) {
  const Open open(*this);
  cpu_.write(device, host, bytes);
}

void GuardedBackend::read(std::byte* host, const std::byte* device, int64_t bytes) {
  const Open open(*this);
  cpu_.read(host, device, bytes);
}

Device find_guarded_device(const RunConfig& config) {
  Device device = find_device(config);
  device.name = device.identity = "guarded";
  device.open = [kernels = device.kernels, threads = device.threads.value()](int) {
    return std::make_unique<GuardedBackend>(kernels, threads);
  };
  return device;
}

}  // namespace laptime::test
