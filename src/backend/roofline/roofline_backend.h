// RooflineBackend: nothing is computed; a virtual clock moves by what each kernel would take on a described machine.
#pragma once

#include <map>
#include <string>

#include "backend/backend.h"
#include "backend/roofline/device_table.h"

namespace laptime::roofline {

// A kernel takes max(FLOPs / peak, bytes / bandwidth) + launch cost (Williams, Waterman and Patterson 2009).
class RooflineBackend : public Backend {
 public:
  // tf32: float32 contractions run on the tensor cores where the machine has them.
  RooflineBackend(const Device& device, std::span<const OpCard* const> ops, bool tf32);

  std::string name() const override;
  bool computes() const override { return false; }
  std::span<const Kernel> kernels(const OpCard& op) const override;
  std::unique_ptr<DeviceMemory> allocate(
      int64_t bytes, Contents contents = Contents::kZeros) override;  // Error beyond the machine's memory
  int64_t peak_held_bytes() const override { return books_.peak; }
  void launch(const Launch& launch) override;
  void synchronize() override {}
  Seconds now() override { return clock_; }
  void write(std::byte*, const std::byte*, int64_t) override {}
  void read(std::byte*, const std::byte*, int64_t) override {}

  const Device& device() const { return device_; }

 private:
  struct Books {
    int64_t held = 0;
    int64_t peak = 0;
  };
  class Paper;

  const Device& device_;
  bool tf32_;
  std::map<const OpCard*, Kernel> kernels_;
  Seconds clock_{};
  Books books_;
};

}  // namespace laptime::roofline
