// Device: the properties of a device and how to open it. Only this module names concrete backends.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "backend/launch_loop.h"
#include "base/machine.h"
#include "base/units.h"
#include "config/machine.h"
#include "config/run_config.h"
#include "prepare/kernel_rules.h"

namespace laptime {

class LaunchTimes;

// Bytes of memory that an allocation of `bytes` takes up, rounded up to whole pages.
using HeldBytes = int64_t (*)(int64_t bytes);

// The loops of one kernel launch on `threads` threads.
using LaunchLoops = std::vector<LaunchLoop> (*)(const Kernel& kernel, const Signature& signature, int threads);

// The rates used to predict times: FLOP/s of matrix products and bytes/s of memory.
struct PredictedRates {
  double product_flops = 0;
  double bandwidth = 0;
};

// Describing a device allocates no memory and starts no thread; `open` does.
struct Device {
  std::string name;                       // "cpu", "roofline:h100"; never "auto"
  std::string identity;                   // identifies device, kernels and rules within a machine; see device_key()
  KernelRules rules;                      // which of its kernels may run; `identity` contains key_of(rules)
  std::string requested_math;             // the arithmetic of the dtype: "float32", "bfloat16 autocast, ..."
  DType product_factors{};                // type of the factors of matrix products
  bool computes = true;                   // false: times are predicted, and there are no values
  std::string isa;                        // instruction set of the kernels; empty if not applicable
  std::optional<int> threads;             // CPU threads; none for other devices
  std::string threads_reason{};           // why the default is not all hardware threads; otherwise empty
  std::optional<int64_t> memory_bytes;    // device memory; none: the device uses host memory
  HeldBytes held_bytes = nullptr;         // bytes that an allocation of a given size occupies; null: exactly that size
  bool pools_steps = false;               // values of a step are allocated one by one, not placed in one block
  std::optional<DeviceCard> card{};       // none: the device is the machine itself, or is only described
  std::optional<double> datasheet_flops;  // peak FLOP/s for the dtype
  std::optional<double> datasheet_bandwidth{};  // bytes/s; only for a device that computes
  std::optional<int64_t> cache_bytes{};  // size of the device's last-level cache; none: the device uses host caches
  LaunchLoops launch_loops = nullptr;    // null if the kernels do not run on host threads
  std::shared_ptr<const LaunchTimes> launch_times;  // null for a device that computes
  std::optional<PredictedRates> rates{};            // rates of the described machine; none for a device that computes
  std::shared_ptr<const KernelTable> kernels;
  // Opens device `number`, modulo the number of devices of this kind on the machine, so that ranks take devices in rank
  // order. Throws Error if the machine lacks the device.
  std::function<std::unique_ptr<Backend>(int number)> open;
};

// The device of a configuration. Throws Error for an unknown name, or with the text of unsupported_reason() if the
// device cannot run the configuration.
Device find_device(const RunConfig& config);
// Like find_device(), but a described machine predicts for `program`. Other devices run only laptime.
Device find_device_of(const RunConfig& config, Program program);
using FindDevice = std::function<Device(const RunConfig&)>;

// The host threads of one rank: --threads, or else an equal share of the default number of threads.
int64_t threads_of_rank(const RunConfig& config);

// True for a GPU, and for a machine that its file describes as one. On such a device, library kernels require both
// factors of a product to have the same type, each launch costs time, and rows that begin at multiples of 16 bytes are
// accessed faster.
bool is_gpu(const RunConfig& config);

// One row of `laptime list devices`.
struct DeviceSummary {
  std::string name;                   // value of --device
  std::function<std::string()> text;  // one-line description; probes the device, which may load its driver
};
std::vector<DeviceSummary> list_devices();

// Why the device cannot run the configuration; empty if it can. Throws Error for an unknown name, and for a device, MPI
// or NCCL that this machine lacks.
std::string unsupported_reason(const RunConfig& config);

// The CPU kernels of one op on this machine, for `laptime list kernels`.
struct KernelText {
  std::string op;
  std::string device;
  std::vector<std::string> kernels;  // in order of preference, the reference last
};
std::vector<KernelText> list_kernels();

}  // namespace laptime
