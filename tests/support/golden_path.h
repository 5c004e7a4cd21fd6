// Paths of the golden files.
#pragma once

#include <string>

namespace laptime::test {

inline std::string golden_path(const std::string& name) {
  return std::string(LAPTIME_GOLDEN_DIR) + "/" + name + ".safetensors";
}

}  // namespace laptime::test
