// CpuBackend: this machine's processors, memory and clock.
#pragma once

#include <atomic>
#include <memory>
#include <unordered_map>

#include "backend/backend.h"
#include "backend/cpu/team.h"

namespace laptime::cpu {

class CpuBackend : public Backend {
 public:
  // `kernels` in order of preference; those of one op need not stand together. Sets how malloc of this process keeps
  // what it frees, so that a library's buffers cost no page fault in a step.
  CpuBackend(std::vector<Kernel> kernels, int threads);

  std::string name() const override { return "cpu"; }
  bool computes() const override { return true; }
  std::span<const Kernel> kernels(const OpCard& op) const override;
  std::unique_ptr<DeviceMemory> allocate(int64_t bytes, Contents contents = Contents::kZeros) override;
  void launch(const Launch& launch) override;
  void synchronize() override {}
  Seconds now() override;
  void write(std::byte* device, const std::byte* host, int64_t bytes) override;
  void read(std::byte* host, const std::byte* device, int64_t bytes) override;

  Team& team() { return team_; }
  // Bytes mapped by allocate and not yet released, whole pages counted; and the most they ever were.
  int64_t held_bytes() const { return held_->now.load(std::memory_order_relaxed); }
  int64_t peak_held_bytes() const override { return held_->peak.load(std::memory_order_relaxed); }

 private:
  struct Held {  // shared with the memory, which may outlive the backend
    std::atomic<int64_t> now{0};
    std::atomic<int64_t> peak{0};
    void add(int64_t bytes);
  };
  class Memory;

  std::unordered_map<const OpCard*, std::vector<Kernel>> kernels_;
  std::shared_ptr<Held> held_ = std::make_shared<Held>();
  Team team_;
};

}  // namespace laptime::cpu
