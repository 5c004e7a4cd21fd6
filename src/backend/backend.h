// Backend: what a device must offer to run a plan: memory, kernels, a queue and its own clock.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "backend/kernel.h"
#include "base/units.h"

namespace laptime {

// Memory of a device, released with the object.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  virtual ~DeviceMemory() = default;
  virtual std::byte* data() = 0;
};

// One launch of a plan, all that a device may want to know of it.
struct Launch {
  const Kernel* kernel = nullptr;
  const Attributes* attributes = nullptr;
  std::span<const TensorView> in;
  std::span<const TensorView> out;
  std::byte* workspace = nullptr;
  double flops = 0;   // model FLOPs
  int64_t bytes = 0;  // that must move
};

// What fresh memory holds.
enum class Contents : uint8_t {
  kZeros,
  kNan,  // all bits set, NaN in every floating type: a value that is read before it is made shows
};

class Backend {
 public:
  Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  virtual ~Backend() = default;

  virtual std::string name() const = 0;  // "cpu", "roofline:h100"
  // False where nothing is computed: values, and so losses, do not exist.
  virtual bool computes() const = 0;
  // In order of preference; the reference, where there is one, last.
  virtual std::span<const Kernel> kernels(const OpCard& op) const = 0;
  // Aligned to 64 bytes at least and touched, so that no page fault is left for the step. Throws Error when refused.
  virtual std::unique_ptr<DeviceMemory> allocate(int64_t bytes, Contents contents = Contents::kZeros) = 0;
  // The most bytes of such memory that were held at once.
  virtual int64_t peak_held_bytes() const = 0;
  virtual void launch(const Launch& launch) = 0;
  // Waits for everything launched.
  virtual void synchronize() = 0;
  // The device's clock; monotonic; its zero is arbitrary.
  virtual Seconds now() = 0;
  // Moves bytes between host and device memory.
  virtual void write(std::byte* device, const std::byte* host, int64_t bytes) = 0;
  virtual void read(std::byte* host, const std::byte* device, int64_t bytes) = 0;
};

}  // namespace laptime
