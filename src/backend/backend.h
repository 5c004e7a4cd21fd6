// Backend: the interface of a device that runs a plan, with memory, kernels, a queue, a clock and limits.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/activities.h"
#include "backend/group.h"
#include "backend/kernel.h"
#include "backend/sensors.h"
#include "base/units.h"

namespace laptime {

// Device memory, freed by the destructor. The host may do arithmetic on the address but must not access the memory;
// only Backend::read and write move bytes.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  virtual ~DeviceMemory() = default;
  virtual std::byte* data() = 0;  // null if kernels compute no values
};

// Memory that a device allocates and frees in the order of its queue, like the allocator of an eager framework. Freed
// memory may be reused immediately, because the launches that reuse it come later in the queue.
class StepPool {
 public:
  StepPool() = default;
  StepPool(const StepPool&) = delete;
  StepPool& operator=(const StepPool&) = delete;
  virtual ~StepPool() = default;
  // Allocates memory aligned to at least 256 bytes, with arbitrary contents. Throws OutOfMemory.
  virtual std::byte* allocate(int64_t bytes) = 0;
  virtual void free(std::byte* address) = 0;
  // Peak bytes since the pool was created: requested by allocations, and reserved by the pool on the device.
  virtual int64_t peak_requested_bytes() const = 0;
  virtual int64_t peak_reserved_bytes() const = 0;
};

// One kernel launch of a plan.
struct Launch {
  const Kernel* kernel = nullptr;
  const Attributes* attributes = nullptr;
  std::span<const TensorView> in;
  std::span<const TensorView> out;
  std::byte* workspace = nullptr;
  int64_t workspace_bytes = 0;
  double flops = 0;           // model FLOPs
  int64_t bytes = 0;          // bytes that must be read and written
  bool communicates = false;  // true if the launch runs in the communication queue
};

// Start and end of a communication launch, on the device's clock.
struct CommunicationTime {
  Seconds begin{}, end{};
};
struct CommunicationTimes {
  std::vector<CommunicationTime> launches;
  Seconds waited{};
};

// Initial contents of allocated memory.
enum class Contents : uint8_t {
  kZeros,
  kNan,  // all bits set: NaN in every floating-point type, which reveals reads before the first write
};

// Launches, pauses and marks that a device has recorded and can run as a whole.
class Recording {
 public:
  Recording() = default;
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
  virtual ~Recording() = default;
  // Enqueues all of the recorded work again, on the same operands.
  virtual void run() = 0;
};

// The result of measuring a limit.
struct LimitReading {
  double value = 0;
  bool is_estimate = false;  // true if other work kept the device from reaching the limit

  LimitReading(double measured) : value(measured) {}  // NOLINT(google-explicit-constructor)
  LimitReading(double measured, bool estimated) : value(measured), is_estimate(estimated) {}
};

// A limit of the device, such as its peak FLOP/s, and the function that measures the limit. Reports compare the rates
// of steps with these limits.
struct DeviceLimit {
  enum class Kind : uint8_t {
    kProductFlops,  // FLOP/s of matrix products on all threads
    kBandwidth,     // bytes/s of device memory, for a stream that reads and writes on all threads
    kPageFault,     // seconds for the first access to a page of host memory
  };
  Kind kind = Kind::kProductFlops;
  std::string name;                       // key of the stored value; contains everything that the value depends on
  const char* unit = "";                  // "FLOP/s", "bytes/s", "s"
  std::function<LimitReading()> measure;  // takes up to a few seconds
};

class Backend {
 public:
  Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  virtual ~Backend() = default;

  virtual std::string name() const = 0;  // "cpu", "roofline:h100"
  // False if kernels compute no values; a step then has no loss.
  virtual bool computes() const = 0;
  virtual const KernelTable& kernel_table() const = 0;
  std::span<const Kernel> kernels(const OpCard& op) const { return kernel_table().of(op); }
  // Allocates memory aligned to at least 64 bytes and touches all its pages, so that a step has no page faults. Throws
  // OutOfMemory if there is not enough memory.
  virtual std::unique_ptr<DeviceMemory> allocate(int64_t bytes, Contents contents = Contents::kZeros) = 0;
  // Creates a pool if the device allocates each value of a step separately; returns null if all values are placed in
  // one block. The backend must outlive the pool.
  virtual std::unique_ptr<StepPool> step_pool() { return nullptr; }
  // Peak bytes of device memory held since the last call to reset_peak_held_bytes, which sets the peak to the bytes
  // held now.
  virtual int64_t peak_held_bytes() const = 0;
  virtual void reset_peak_held_bytes() = 0;

  // Prepares a kernel for launches with this signature. Must be called before the first such launch, and may be called
  // again.
  virtual void prepare(const Kernel& kernel, const Signature& signature) = 0;
  // Enqueues a launch. Launches and marks execute in order, but a recording may run launches between two marks
  // concurrently if neither writes bytes that the other reads or writes. Communication launches execute in order
  // among themselves, after all launches enqueued before them and concurrently with later ones. After the call, the
  // caller may change everything that `launch` points to, except the bytes of the operands.
  virtual void launch(const Launch& launch) = 0;
  // Sets the ranks that take part in communication; must be called before the first communication launch. The group
  // must outlive the backend.
  virtual void join(Group& group) { static_cast<void>(group); }
  // Delays later launches and marks until the first `count` communication launches since the last synchronize are done.
  virtual void wait_for_communication(size_t count) { static_cast<void>(count); }
  // Returns the times of the communication launches between the last two calls to synchronize, and how long other
  // launches waited for them. A call to synchronize without new communication launches leaves these times unchanged.
  virtual CommunicationTimes communication_times() const { return {}; }
  // Enqueues a pause: the next launch or mark is delayed by `time`.
  virtual void pause(Seconds time) = 0;
  // Enqueues mark `index`: the device records the time when all earlier launches, except those that communicate, are
  // done. Does not block.
  virtual void mark(size_t index) = 0;
  // True if steps after the first one run from a recording.
  virtual bool records_steps() const { return false; }
  // Records the work that `enqueue` enqueues, without running it. Returns null if the device cannot record. Throws
  // OutOfMemory if there is too little memory for the recording. The backend must outlive the recording.
  virtual std::unique_ptr<Recording> record(const std::function<void()>& enqueue) {
    static_cast<void>(enqueue);
    return nullptr;
  }
  // Waits until the queue is empty. Throws Error if a launch has failed, OutOfMemory if it failed for lack of memory.
  virtual void synchronize() = 0;
  // The time of a mark on the clock of the device; valid after synchronize.
  virtual Seconds time_of_mark(size_t index) const = 0;
  // True if the marks and now() use a different hardware clock from the host's, so that the two clocks may disagree.
  virtual bool has_own_clock() const { return false; }
  // Reads the clock of the device from the host. The clock is monotonic and has an arbitrary origin. May wait until the
  // queue is empty.
  virtual Seconds now() = 0;

  // Runs `work`, which must leave the queue empty, and returns what the device recorded. This delays launches, but does
  // not slow down kernels. If the device does not report when its kernels run, Activities::missing says so.
  virtual Activities watch(const std::function<void()>& work) {
    work();
    Activities activities;
    activities.missing = "the device does not report when its kernels run";
    return activities;
  }
  // True if a profiler is attached that displays named ranges. Work enqueued between begin_range and end_range belongs
  // to that range. In a recorded step, ranges keep the names that they had when the step was recorded.
  virtual bool names_ranges() const { return false; }
  virtual void begin_range(const char* name) { static_cast<void>(name); }
  virtual void end_range() {}

  // Copy bytes between host and device memory, after all work in the queue. Several host threads may copy different
  // bytes concurrently.
  virtual void write(std::byte* device, const std::byte* host, int64_t bytes) = 0;
  virtual void read(std::byte* host, const std::byte* device, int64_t bytes) = 0;

  // Current sensor readings; empty if the device has no sensors. May take several milliseconds, so never call it inside
  // a timed region.
  virtual std::optional<Sensors> sensors() { return std::nullopt; }

  // The limits that apply to a step whose matrix products have factors of this type; empty if kernels compute no
  // values.
  virtual std::vector<DeviceLimit> limits(DType factors) {
    static_cast<void>(factors);
    return {};
  }
};

}  // namespace laptime
