// The table of known devices, with figures from data sheets.
#include "backend/roofline/device_table.h"

#include <vector>

#include "base/error.h"
#include "base/words.h"

namespace laptime::roofline {
namespace {

constexpr double kTera = 1e12;
constexpr int64_t kGiB = int64_t{1} << 30;
// Typical host time to launch one kernel in a framework's eager mode.
constexpr double kEagerLaunch = 8e-6;

constexpr Device kDevices[] = {
    {"a100", "NVIDIA A100 SXM 80 GB", 19.5 * kTera, 156 * kTera, 312 * kTera, 2.039 * kTera, 80 * kGiB, kEagerLaunch,
     "NVIDIA A100 data sheet"},
    {"h100", "NVIDIA H100 SXM 80 GB", 67 * kTera, 494.7 * kTera, 989.4 * kTera, 3.35 * kTera, 80 * kGiB, kEagerLaunch,
     "NVIDIA H100 data sheet"},
    {"h100-pcie", "NVIDIA H100 PCIe 80 GB", 51.2 * kTera, 378 * kTera, 756 * kTera, 2.0 * kTera, 80 * kGiB,
     kEagerLaunch, "NVIDIA H100 data sheet"},
    {"h200", "NVIDIA H200 SXM 141 GB", 67 * kTera, 494.7 * kTera, 989.4 * kTera, 4.8 * kTera, 141'000'000'000,
     kEagerLaunch, "NVIDIA H200 data sheet"},
    {"b200", "NVIDIA B200 180 GB", 75 * kTera, 1125 * kTera, 2250 * kTera, 7.7 * kTera, 180'000'000'000, kEagerLaunch,
     "NVIDIA HGX B200 data sheet"},
    {"l4", "NVIDIA L4 24 GB", 30.3 * kTera, 60 * kTera, 121 * kTera, 0.3 * kTera, 24 * kGiB, kEagerLaunch,
     "NVIDIA L4 data sheet"},
    {"l40s", "NVIDIA L40S 48 GB", 91.6 * kTera, 183 * kTera, 362 * kTera, 0.864 * kTera, 48 * kGiB, kEagerLaunch,
     "NVIDIA L40S data sheet"},
    {"rtx4090", "NVIDIA GeForce RTX 4090 24 GB", 82.6 * kTera, 82.6 * kTera, 165.2 * kTera, 1.008 * kTera, 24 * kGiB,
     kEagerLaunch, "NVIDIA Ada architecture white paper"},
};

}  // namespace

std::span<const Device> devices() { return kDevices; }

const Device& find_device(std::string_view name) {
  for (const Device& device : kDevices) {
    if (name == device.name) return device;
  }
  std::vector<std::string_view> names;
  for (const Device& device : kDevices) names.emplace_back(device.name);
  throw Error::format("unknown machine 'roofline:{}'{}; laptime list devices shows the known ones", name,
                      did_you_mean(name, names));
}

}  // namespace laptime::roofline
