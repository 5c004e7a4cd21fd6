// Stands in for libnvidia-ml on the GPU of fake_cuda.cpp. It has only the functions that laptime calls. The GPU draws
// 300 W, uses two joules between readings, and is in use by two processes.
#include <cstdlib>
#include <cstring>

#include "backend/cuda/libraries/nvml.h"

namespace laptime::cuda {
struct NvmlDeviceObject {
  unsigned long long millijoules = 0;
};
}  // namespace laptime::cuda

namespace {

using namespace laptime::cuda;

constexpr NvmlStatus kDone = 0;
constexpr NvmlStatus kNotFound = 6;
constexpr NvmlStatus kNotSupported = 3;

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the names of libnvidia-ml
extern "C" {

NvmlStatus nvmlInit_v2() { return kDone; }
NvmlStatus nvmlDeviceGetHandleByUUID(const char* uuid, NvmlDevice* device) {
  if (std::strcmp(uuid, "GPU-fafafafa-fafa-fafa-fafa-fafafafafafa") != 0) return kNotFound;
  static NvmlDeviceObject the_card;
  *device = &the_card;
  return kDone;
}
NvmlStatus nvmlDeviceGetClockInfo(NvmlDevice, int clock, unsigned* megahertz) {
  if (clock != 1 && clock != 2) return kNotSupported;
  *megahertz = clock == 1 ? 1980 : 3201;
  return kDone;
}
NvmlStatus nvmlDeviceGetPowerUsage(NvmlDevice, unsigned* milliwatts) { return *milliwatts = 300'000, kDone; }
NvmlStatus nvmlDeviceGetTemperature(NvmlDevice, int, unsigned* celsius) { return *celsius = 55, kDone; }
NvmlStatus nvmlDeviceGetTotalEnergyConsumption(NvmlDevice device, unsigned long long* millijoules) {
  *millijoules = device->millijoules += 2000;
  return kDone;
}
// LAPTIME_FAKE_NVML_REASONS: bits as in nvmlClocksThrottleReasons, as a decimal number; 1 (idle) by default.
NvmlStatus nvmlDeviceGetCurrentClocksThrottleReasons(NvmlDevice, unsigned long long* reasons) {
  const char* const bits = std::getenv("LAPTIME_FAKE_NVML_REASONS");
  *reasons = bits == nullptr ? 1 : std::strtoull(bits, nullptr, 10);
  return kDone;
}
NvmlStatus nvmlDeviceGetTotalEccErrors(NvmlDevice, int, int, unsigned long long*) { return kNotSupported; }
NvmlStatus nvmlDeviceGetComputeRunningProcesses_v3(NvmlDevice, unsigned* count, NvmlProcess* processes) {
  processes[0] = {};
  processes[1] = {};
  *count = 2;
  return kDone;
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
