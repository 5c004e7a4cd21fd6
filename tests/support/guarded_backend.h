// GuardedBackend: a CPU backend whose memory is accessible only during transfers and launches. Host code that accesses
// device memory directly crashes.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "backend/cpu/cpu_backend.h"
#include "prepare/device.h"

namespace laptime::test {

class GuardedBackend : public Backend {
 public:
  GuardedBackend(std::shared_ptr<const KernelTable> kernels, int threads) : cpu_(std::move(kernels), threads) {}

  std::string name() const override { return "guarded"; }
  bool computes() const override { return true; }
  const KernelTable& kernel_table() const override { return cpu_.kernel_table(); }
  std::unique_ptr<DeviceMemory> allocate(int64_t bytes, Contents contents = Contents::kZeros) override;
  int64_t peak_held_bytes() const override { return peak_; }
  void reset_peak_held_bytes() override { peak_ = held_; }
  std::vector<DeviceLimit> limits(DType factors) override { return cpu_.limits(factors); }
  void prepare(const Kernel& kernel, const Signature& signature) override { cpu_.prepare(kernel, signature); }
  void launch(const Launch& launch) override;
  void pause(Seconds time) override { cpu_.pause(time); }
  void mark(size_t index) override { cpu_.mark(index); }
  void synchronize() override { cpu_.synchronize(); }
  Seconds time_of_mark(size_t index) const override { return cpu_.time_of_mark(index); }
  Seconds now() override { return cpu_.now(); }
  void write(std::byte* device, const std::byte* host, int64_t bytes) override;
  void read(std::byte* host, const std::byte* device, int64_t bytes) override;

 private:
  class Memory;
  class Open;

  cpu::CpuBackend cpu_;
  std::mutex mutex_;
  std::vector<Memory*> memory_;
  int users_ = 0;  // current number of transfers and launches
  int64_t held_ = 0;
  int64_t peak_ = 0;
};

// The device that find_device returns, with guarded memory.
Device find_guarded_device(const RunConfig& config);

}  // namespace laptime::test
