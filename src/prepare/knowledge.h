// MachineKnowledge: what has been measured on one device and need not be measured again.
#pragma once

#include <string>
#include <vector>

#include "prepare/device.h"
#include "record/store.h"

namespace laptime {

struct MachineKnowledge {
  std::vector<KernelChoice> kernel_choices;
  std::vector<MeasuredPeak> peaks;

  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("kernel_choices", self.kernel_choices);
    visit("peaks", self.peaks);
  }
};

// Tells machines apart; the same for the whole run.
std::string machine_fingerprint();

// The key of what is known of a device: its machine and its own identity.
std::string device_key(const Device& device);
// The same for the device of a configuration; empty where that device does not run it.
std::string device_key(const RunConfig& config);

}  // namespace laptime
