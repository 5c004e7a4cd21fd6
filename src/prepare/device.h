// Device: what is known of a device by its name, and how to open it. The one place that names concrete backends.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "config/run_config.h"

namespace laptime {

// Nothing here touches the device: no memory is taken, no thread started, before `open`.
struct Device {
  std::string name;                     // "cpu", "roofline:h100": what `auto` became
  std::string identity;                 // tells it from every other device of its machine; keys what is measured on it
  std::string math_mode;                // what runs where dtype was asked for: "float32", "bfloat16 autocast, ..."
  DType product_factors{};              // type of the factors of matrix products
  bool computes = true;                 // false: it predicts
  std::string isa;                      // instruction set of the kernels; empty where it means nothing
  std::optional<int> threads;           // of a CPU
  std::optional<int64_t> memory_bytes;  // of a device with its own; none: the host's
  std::optional<double> datasheet_flops;  // peak for the dtype, FLOP/s
  std::shared_ptr<const KernelTable> kernels;
  std::function<std::unique_ptr<Backend>()> open;  // Error for a device that this machine does not have
};

// The device of a configuration. Error for a name that no device has, and with unsupported_reason where the device
// cannot run the configuration.
Device find_device(const RunConfig& config);
using FindDevice = std::function<Device(const RunConfig&)>;

// One device as `laptime list devices` shows it.
struct DeviceSummary {
  std::string name;  // as --device takes it
  std::string text;  // one line
};
std::vector<DeviceSummary> list_devices();

// Why the device cannot run this configuration; empty when it can. Error for a name that no device has.
std::string unsupported_reason(const RunConfig& config);

}  // namespace laptime
