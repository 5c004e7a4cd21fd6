// Loads libnvidia-ml and reads one card.
#include "backend/cuda/libraries/nvml.h"

#include <algorithm>
#include <array>

#include "backend/cuda/libraries/library.h"

namespace laptime::cuda {
namespace {

constexpr const char* kNvmlLibrary = "libnvidia-ml.so.1";
constexpr NvmlStatus kNvmlSuccess = 0, kNvmlInsufficientSize = 7;
constexpr int kClockOfProcessor = 1, kClockOfMemory = 2;  // NVML_CLOCK_SM, NVML_CLOCK_MEM
constexpr int kTemperatureOfGpu = 0;                      // NVML_TEMPERATURE_GPU
constexpr int kUncorrected = 1, kSinceReset = 0;          // NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_VOLATILE_ECC

// Bits of nvmlClocksThrottleReasons that mean a reduced clock. Other bits mean that the card is idle or that a setting
// limits the clock.
struct Slowdown {
  unsigned long long bit;
  const char* name;
};
constexpr Slowdown kSlowdowns[] = {{0x04, "power cap"},
                                   {0x08, "hardware slowdown"},
                                   {0x20, "heat (software)"},
                                   {0x40, "heat (hardware)"},
                                   {0x80, "power brake"}};

void find_functions(Library& library, Nvml& functions) {
  library.find(functions.nvmlInit, "nvmlInit_v2");
  library.find(functions.nvmlDeviceGetHandleByUUID, "nvmlDeviceGetHandleByUUID");
  library.find(functions.nvmlDeviceGetClockInfo, "nvmlDeviceGetClockInfo");
  library.find(functions.nvmlDeviceGetPowerUsage, "nvmlDeviceGetPowerUsage");
  library.find(functions.nvmlDeviceGetTemperature, "nvmlDeviceGetTemperature");
  library.find(functions.nvmlDeviceGetTotalEnergyConsumption, "nvmlDeviceGetTotalEnergyConsumption");
  library.find(functions.nvmlDeviceGetCurrentClocksThrottleReasons, "nvmlDeviceGetCurrentClocksThrottleReasons");
  library.find(functions.nvmlDeviceGetTotalEccErrors, "nvmlDeviceGetTotalEccErrors");
  library.find(functions.nvmlDeviceGetComputeRunningProcesses, "nvmlDeviceGetComputeRunningProcesses_v3");
}

// Returns "GPU-" and the digits in groups of 8, 4, 4, 4 and 12, separated by hyphens.
std::string name_of_card(const std::string& uuid) {
  std::string name = "GPU";
  size_t begin = 0;
  for (const size_t digits : {8, 4, 4, 4, 12}) {
    name += "-" + uuid.substr(std::min(begin, uuid.size()), digits);
    begin += digits;
  }
  return name;
}

}  // namespace

std::unique_ptr<CardSensors> CardSensors::open(const std::string& uuid) {
  Library library(kNvmlLibrary);
  if (!library.is_loaded()) return nullptr;
  auto sensors = std::make_unique<CardSensors>();
  find_functions(library, sensors->nvml_);
  if (library.missing() != nullptr || sensors->nvml_.nvmlInit() != kNvmlSuccess) return nullptr;
  const std::string name = name_of_card(uuid);
  if (sensors->nvml_.nvmlDeviceGetHandleByUUID(name.c_str(), &sensors->device_) != kNvmlSuccess) return nullptr;
  return sensors;
}

Sensors CardSensors::read() const {
  Sensors sensors;
  unsigned value = 0;
  if (nvml_.nvmlDeviceGetClockInfo(device_, kClockOfProcessor, &value) == kNvmlSuccess) sensors.clock_hz = 1e6 * value;
  if (nvml_.nvmlDeviceGetClockInfo(device_, kClockOfMemory, &value) == kNvmlSuccess)
    sensors.memory_clock_hz = 1e6 * value;
  if (nvml_.nvmlDeviceGetPowerUsage(device_, &value) == kNvmlSuccess) sensors.power_watts = 1e-3 * value;
  if (nvml_.nvmlDeviceGetTemperature(device_, kTemperatureOfGpu, &value) == kNvmlSuccess)
    sensors.temperature_celsius = value;
  unsigned long long wide = 0;
  if (nvml_.nvmlDeviceGetTotalEnergyConsumption(device_, &wide) == kNvmlSuccess)
    sensors.joules = 1e-3 * static_cast<double>(wide);
  if (nvml_.nvmlDeviceGetTotalEccErrors(device_, kUncorrected, kSinceReset, &wide) == kNvmlSuccess)
    sensors.uncorrected_errors = static_cast<int64_t>(wide);
  if (nvml_.nvmlDeviceGetCurrentClocksThrottleReasons(device_, &wide) == kNvmlSuccess) {
    for (const Slowdown& slowdown : kSlowdowns) {
      if ((wide & slowdown.bit) != 0) sensors.slowed_by.emplace_back(slowdown.name);
    }
  }
  std::array<NvmlProcess, 64> processes{};
  unsigned count = processes.size();
  const NvmlStatus status = nvml_.nvmlDeviceGetComputeRunningProcesses(device_, &count, processes.data());
  // The count includes this process, which cannot be recognised by its process id: inside a container, the id may
  // differ from the one that NVML reports.
  if (status == kNvmlSuccess || status == kNvmlInsufficientSize)
    sensors.other_processes = std::max(int64_t{count} - 1, int64_t{0});
  return sensors;
}

}  // namespace laptime::cuda
