// Backend: what a device must offer to run a plan: memory, kernels, a queue, and its own clock and limits.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/kernel.h"
#include "base/units.h"

namespace laptime {

// Memory of a device, released with the object. The host computes with its address and never reads or writes through
// it: only Backend::read and write move bytes.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  virtual ~DeviceMemory() = default;
  virtual std::byte* data() = 0;  // null for a device that computes nothing
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

// A limit of the device that figures are held against, and how to measure it here.
struct DeviceLimit {
  enum class Kind : uint8_t {
    kProductFlops,  // FLOP/s of matrix products with all threads
    kPageFault,     // seconds for the first touch of a page of host memory
  };
  Kind kind = Kind::kProductFlops;
  std::string name;                 // of the stored figure: states all that it depends on
  const char* unit = "";            // "FLOP/s", "s"
  std::function<double()> measure;  // takes up to half a second
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
  virtual const KernelTable& kernel_table() const = 0;
  std::span<const Kernel> kernels(const OpCard& op) const { return kernel_table().of(op); }
  // Aligned to 64 bytes at least and touched, so that no page fault is left for the step. Throws Error when refused.
  virtual std::unique_ptr<DeviceMemory> allocate(int64_t bytes, Contents contents = Contents::kZeros) = 0;
  // The most bytes of such memory that were held at once since reset_peak_held_bytes, which counts from what is held
  // then.
  virtual int64_t peak_held_bytes() const = 0;
  virtual void reset_peak_held_bytes() = 0;

  // What the kernel must have made before its first launch with this signature; may be called again for the same one.
  virtual void prepare(const Kernel& kernel, const Signature& signature) = 0;
  // Puts a launch into the queue; what it points to may change once this returns, but for the operands' bytes. Launches
  // and marks run in the order in which they were put.
  virtual void launch(const Launch& launch) = 0;
  // Puts mark `index` into the queue: the device notes the time when everything before it is done. Nobody waits.
  virtual void mark(size_t index) = 0;
  // Waits for everything in the queue.
  virtual void synchronize() = 0;
  // When the device passed a mark, on its own clock. Only after synchronize.
  virtual Seconds time_of_mark(size_t index) const = 0;
  // The device's clock as the host reads it; monotonic; its zero is arbitrary.
  virtual Seconds now() = 0;

  // Move bytes between host and device memory, after everything in the queue. Several host threads may call them at
  // once for different bytes.
  virtual void write(std::byte* device, const std::byte* host, int64_t bytes) = 0;
  virtual void read(std::byte* host, const std::byte* device, int64_t bytes) = 0;

  // The limits of a step whose matrix products have factors of this type; none where nothing is computed.
  virtual std::vector<DeviceLimit> limits(DType factors) {
    static_cast<void>(factors);
    return {};
  }
};

}  // namespace laptime
