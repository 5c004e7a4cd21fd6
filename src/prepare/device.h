// From the name of a device to its backend: the one place that names concrete backends.
#pragma once

#include <memory>
#include <string>

#include "backend/backend.h"
#include "config/run_config.h"

namespace laptime {

struct Device {
  std::unique_ptr<Backend> backend;
  std::string name;       // "cpu", "roofline:h100": what `auto` became
  std::string math_mode;  // what runs where dtype was asked for: "float32", "bfloat16 autocast, float32 accumulation"
  bool autocast = false;  // contractions run in a 16-bit type
  std::string isa;        // instruction set of the kernels; empty where it means nothing
  int threads = 0;        // 0 where it means nothing
  std::optional<int64_t> memory_bytes;    // of a device with its own; none: the host's
  std::optional<double> datasheet_flops;  // peak for the dtype, FLOP/s
};

// Error for a name that no device has, on any machine.
void check_device(const RunConfig& config);

// Why the device cannot run this configuration; empty when it can.
std::string unsupported_reason(const RunConfig& config);

// Error for a device that this machine does not have.
Device make_device(const RunConfig& config);

// Where `auto` leads.
std::string device_name(const RunConfig& config);

}  // namespace laptime
