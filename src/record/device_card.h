// DeviceCard: what a record states about a device that is a part of its machine, such as a GPU.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/key.h"

namespace laptime {

struct DeviceCard {
  std::string name;                    // "NVIDIA H200"
  std::string compute_capability;      // "9.0"
  std::string driver;                  // the newest CUDA that the driver serves: "13.0"
  int64_t memory_bytes = 0;            // of all of it
  std::vector<std::string> libraries;  // "cuBLASLt 13.0", those that kernels may take

  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("name", self.name);
    visit("compute_capability", self.compute_capability);
    visit("driver", self.driver);
    visit(Key{"memory_bytes", Unit::kBytes}, self.memory_bytes);
    visit("libraries", self.libraries);
  }
};

}  // namespace laptime
