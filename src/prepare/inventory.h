// The CPU kernels of this machine, for `laptime list kernels`.
#pragma once

#include <string>
#include <vector>

namespace laptime {

struct KernelText {
  std::string op;
  std::string device;
  std::vector<std::string> kernels;  // in order of preference, the reference last
};
std::vector<KernelText> list_kernels();

}  // namespace laptime
