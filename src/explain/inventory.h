// What this program can run on and with: devices and kernels.
#pragma once

#include <string>
#include <vector>

namespace laptime {

struct DeviceText {
  std::string name;     // as --device takes it
  std::string summary;  // one line
};
std::vector<DeviceText> list_devices();

struct KernelText {
  std::string op;
  std::string device;
  std::vector<std::string> kernels;  // in order of preference, the reference last
};
// Of this machine's CPU: those of the instruction set that runs here.
std::vector<KernelText> list_kernels();

}  // namespace laptime
