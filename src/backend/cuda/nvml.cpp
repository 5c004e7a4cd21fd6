// Loads libnvidia-ml and reads one card.
#include "backend/cuda/nvml.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <type_traits>

namespace laptime::cuda {
namespace {

constexpr const char* kLibrary = "libnvidia-ml.so.1";
constexpr NvmlStatus kSuccess = 0, kInsufficientSize = 7;
constexpr int kClockOfProcessor = 1, kClockOfMemory = 2;  // NVML_CLOCK_SM, NVML_CLOCK_MEM
constexpr int kTemperatureOfGpu = 0;                      // NVML_TEMPERATURE_GPU
constexpr int kUncorrected = 1, kSinceReset = 0;          // NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_VOLATILE_ECC

// Bits of nvmlClocksThrottleReasons that mean a lower clock; others say that the card idles or follows a setting.
struct Slowdown {
  unsigned long long bit;
  const char* name;
};
constexpr Slowdown kSlowdowns[] = {{0x04, "power cap"},
                                   {0x08, "hardware slowdown"},
                                   {0x20, "heat (software)"},
                                   {0x40, "heat (hardware)"},
                                   {0x80, "power brake"}};

bool load_functions(void* library, Nvml& functions) {
  bool complete = true;
  const auto load = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    complete = complete && function != nullptr;
  };
  load(functions.nvmlInit, "nvmlInit_v2");
  load(functions.nvmlDeviceGetHandleByUUID, "nvmlDeviceGetHandleByUUID");
  load(functions.nvmlDeviceGetClockInfo, "nvmlDeviceGetClockInfo");
  load(functions.nvmlDeviceGetPowerUsage, "nvmlDeviceGetPowerUsage");
  load(functions.nvmlDeviceGetTemperature, "nvmlDeviceGetTemperature");
  load(functions.nvmlDeviceGetTotalEnergyConsumption, "nvmlDeviceGetTotalEnergyConsumption");
  load(functions.nvmlDeviceGetCurrentClocksThrottleReasons, "nvmlDeviceGetCurrentClocksThrottleReasons");
  load(functions.nvmlDeviceGetTotalEccErrors, "nvmlDeviceGetTotalEccErrors");
  load(functions.nvmlDeviceGetComputeRunningProcesses, "nvmlDeviceGetComputeRunningProcesses_v3");
  return complete;
}

// "GPU-" and the digits in groups of 8, 4, 4, 4 and 12.
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
  void* const library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);  // stays loaded
  if (library == nullptr) return nullptr;
  auto sensors = std::make_unique<CardSensors>();
  if (!load_functions(library, sensors->nvml_) || sensors->nvml_.nvmlInit() != kSuccess) return nullptr;
  const std::string name = name_of_card(uuid);
  if (sensors->nvml_.nvmlDeviceGetHandleByUUID(name.c_str(), &sensors->device_) != kSuccess) return nullptr;
  return sensors;
}

Sensors CardSensors::read() const {
  Sensors sensors;
  unsigned value = 0;
  if (nvml_.nvmlDeviceGetClockInfo(device_, kClockOfProcessor, &value) == kSuccess) sensors.clock_hz = 1e6 * value;
  if (nvml_.nvmlDeviceGetClockInfo(device_, kClockOfMemory, &value) == kSuccess) sensors.memory_clock_hz = 1e6 * value;
  if (nvml_.nvmlDeviceGetPowerUsage(device_, &value) == kSuccess) sensors.power_watts = 1e-3 * value;
  if (nvml_.nvmlDeviceGetTemperature(device_, kTemperatureOfGpu, &value) == kSuccess)
    sensors.temperature_celsius = value;
  unsigned long long wide = 0;
  if (nvml_.nvmlDeviceGetTotalEnergyConsumption(device_, &wide) == kSuccess)
    sensors.joules = 1e-3 * static_cast<double>(wide);
  if (nvml_.nvmlDeviceGetTotalEccErrors(device_, kUncorrected, kSinceReset, &wide) == kSuccess)
    sensors.uncorrected_errors = static_cast<int64_t>(wide);
  if (nvml_.nvmlDeviceGetCurrentClocksThrottleReasons(device_, &wide) == kSuccess) {
    for (const Slowdown& slowdown : kSlowdowns) {
      if ((wide & slowdown.bit) != 0) sensors.slowed_by.emplace_back(slowdown.name);
    }
  }
  std::array<NvmlProcess, 64> processes{};
  unsigned count = processes.size();
  const NvmlStatus status = nvml_.nvmlDeviceGetComputeRunningProcesses(device_, &count, processes.data());
  // This process is one of them; in a container it may have another number there.
  if (status == kSuccess || status == kInsufficientSize)
    sensors.other_processes = std::max(int64_t{count} - 1, int64_t{0});
  return sensors;
}

}  // namespace laptime::cuda
