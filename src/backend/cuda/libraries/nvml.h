// CardSensors: clocks, power, temperature and processes of a GPU, read through NVML, a library loaded at run time.
#pragma once

#include <memory>
#include <string>

#include "backend/sensors.h"

namespace laptime::cuda {

using NvmlStatus = int;
using NvmlDevice = struct NvmlDeviceObject*;
// A process that uses a GPU (version 3 of nvmlProcessInfo_t).
struct NvmlProcess {
  unsigned pid;
  unsigned long long memory_bytes;
  unsigned gpu_instance, compute_instance;
};

// Each member is named after a function of libnvidia-ml; nvml.cpp states the ABI version of each function.
struct Nvml {
  // NOLINTBEGIN(readability-identifier-naming): the names of libnvidia-ml
  NvmlStatus (*nvmlInit)() = nullptr;
  NvmlStatus (*nvmlDeviceGetHandleByUUID)(const char* uuid, NvmlDevice* device) = nullptr;
  NvmlStatus (*nvmlDeviceGetClockInfo)(NvmlDevice device, int clock, unsigned* megahertz) = nullptr;
  NvmlStatus (*nvmlDeviceGetPowerUsage)(NvmlDevice device, unsigned* milliwatts) = nullptr;
  NvmlStatus (*nvmlDeviceGetTemperature)(NvmlDevice device, int sensor, unsigned* celsius) = nullptr;
  NvmlStatus (*nvmlDeviceGetTotalEnergyConsumption)(NvmlDevice device, unsigned long long* millijoules) = nullptr;
  NvmlStatus (*nvmlDeviceGetCurrentClocksThrottleReasons)(NvmlDevice device, unsigned long long* reasons) = nullptr;
  NvmlStatus (*nvmlDeviceGetTotalEccErrors)(NvmlDevice device, int type, int counter,
                                            unsigned long long* errors) = nullptr;
  NvmlStatus (*nvmlDeviceGetComputeRunningProcesses)(NvmlDevice device, unsigned* count,
                                                     NvmlProcess* processes) = nullptr;
  // NOLINTEND(readability-identifier-naming)
};

class CardSensors {
 public:
  // Opens the GPU with this UUID (32 hexadecimal digits). Returns null if NVML is not installed or does not find the
  // card. Never throws.
  static std::unique_ptr<CardSensors> open(const std::string& uuid);

  Sensors read() const;

 private:
  Nvml nvml_;
  NvmlDevice device_ = nullptr;
};

}  // namespace laptime::cuda
