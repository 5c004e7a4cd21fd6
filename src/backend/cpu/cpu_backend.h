// CpuBackend: runs plans on the processors of this machine.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "backend/backend.h"
#include "backend/cpu/communication.h"
#include "backend/cpu/team.h"

namespace laptime::cpu {

// Faster paths that products may take instead of float32 multiply-adds, if the processor has the instructions.
struct ProductPaths {
  bool bfloat16 = true;       // multiply bfloat16 factors by dot products of pairs or on AMX tiles
  bool split_float32 = true;  // multiply float32 factors on AMX tiles, as sums of bfloat16 terms
};

class CpuBackend : public Backend {
 public:
  // limits() measures the fastest of the allowed paths. Throws OutOfMemory if the address space cannot hold the
  // threads' stacks and buffers.
  CpuBackend(std::shared_ptr<const KernelTable> kernels, int threads, ProductPaths paths = {});
  CpuBackend(std::vector<Kernel> kernels, int threads);

  std::string name() const override { return "cpu"; }
  bool computes() const override { return true; }
  const KernelTable& kernel_table() const override { return *kernels_; }
  std::unique_ptr<DeviceMemory> allocate(int64_t bytes, Contents contents = Contents::kZeros) override;
  void prepare(const Kernel& kernel, const Signature& signature) override;
  void launch(const Launch& launch) override;  // blocks until done, unless the launch communicates
  void pause(Seconds time) override;
  void mark(size_t index) override;
  void join(Group& group) override { communication_ = std::make_unique<Communication>(group); }
  void wait_for_communication(size_t count) override { communication_->wait(count); }
  CommunicationTimes communication_times() const override;
  void synchronize() override;
  Seconds time_of_mark(size_t index) const override { return marks_.at(index); }
  Seconds now() override;
  void write(std::byte* device, const std::byte* host, int64_t bytes) override;
  void read(std::byte* host, const std::byte* device, int64_t bytes) override;
  std::vector<DeviceLimit> limits(DType factors) override;

  Team& team() { return team_; }
  // Current and peak bytes of the memory from allocate(), rounded up to whole pages.
  int64_t held_bytes() const { return held_->now.load(std::memory_order_relaxed); }
  int64_t peak_held_bytes() const override { return held_->peak.load(std::memory_order_relaxed); }
  void reset_peak_held_bytes() override { held_->peak.store(held_bytes(), std::memory_order_relaxed); }

 private:
  struct Held {  // shared with Memory objects, which may outlive the backend
    std::atomic<int64_t> now{0};
    std::atomic<int64_t> peak{0};
    void add(int64_t bytes);
  };
  class Memory;

  std::shared_ptr<const KernelTable> kernels_;
  ProductPaths paths_;
  std::vector<Seconds> marks_;
  std::shared_ptr<Held> held_ = std::make_shared<Held>();
  Team team_;
  std::unique_ptr<Communication> communication_;  // null if there is only one rank
};

}  // namespace laptime::cpu
