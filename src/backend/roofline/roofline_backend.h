// RooflineBackend: computes nothing, and advances a virtual clock by the predicted time of each launch.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "config/machine.h"
#include "predict/launch_times.h"

namespace laptime::roofline {

class RooflineBackend : public Backend {
 public:
  RooflineBackend(DataSheet machine, std::shared_ptr<const KernelTable> kernels, LaunchTimes times);
  // Predicts a step whose kernels are launched one by one, as in eager mode.
  RooflineBackend(const DataSheet& machine, std::span<const OpCard* const> ops, double product_peak);

  std::string name() const override;
  bool computes() const override { return false; }
  const KernelTable& kernel_table() const override { return *kernels_; }
  std::unique_ptr<DeviceMemory> allocate(int64_t bytes, Contents contents = Contents::kZeros) override;
  int64_t peak_held_bytes() const override { return usage_.peak; }
  void reset_peak_held_bytes() override { usage_.peak = usage_.held; }
  void prepare(const Kernel&, const Signature&) override {}
  void launch(const Launch& launch) override;
  void pause(Seconds time) override { clock_ += time; }  // pauses device and host
  void mark(size_t index) override;
  void synchronize() override;
  Seconds time_of_mark(size_t index) const override { return marks_.at(index); }
  Seconds now() override { return clock_ + Seconds{times_.together(kernels_time_, host_time_)}; }
  void write(std::byte*, const std::byte*, int64_t) override {}
  void read(std::byte*, const std::byte*, int64_t) override {}

 private:
  struct MemoryUsage {
    int64_t held = 0;
    int64_t peak = 0;
  };
  class NullMemory;

  DataSheet machine_;
  LaunchTimes times_;
  std::shared_ptr<const KernelTable> kernels_;
  std::vector<Seconds> marks_;
  Seconds clock_{};
  double kernels_time_ = 0, host_time_ = 0;  // seconds of launches since the last synchronisation
  MemoryUsage usage_;
};

// One kernel per op, which supports every signature.
std::vector<Kernel> roofline_kernels(std::span<const OpCard* const> ops);

}  // namespace laptime::roofline
