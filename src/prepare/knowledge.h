// MachineKnowledge: stored measurements of one device, which need not be repeated.
#pragma once

#include <string>
#include <vector>

#include "prepare/device.h"
#include "record/store.h"

namespace laptime {

struct MachineKnowledge {
  std::vector<KernelChoice> kernel_choices;
  std::vector<LaunchCost> launch_costs;
  std::vector<MeasuredPeak> peaks;

  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("kernel_choices", self.kernel_choices);
    visit("launch_costs", self.launch_costs);
    visit("peaks", self.peaks);
  }
};

// Identifies the machine; constant while the program runs.
std::string machine_fingerprint();

// The key of stored measurements: machine and device.
std::string device_key(const Device& device);
// The key for the device of a configuration; empty if the device cannot run it.
std::string device_key(const RunConfig& config);

}  // namespace laptime
