// MachineKnowledge: stored measurements of one device, which need not be repeated.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/key.h"
#include "prepare/device.h"
#include "record/store.h"

namespace laptime {

struct MachineKnowledge {
  std::vector<KernelChoice> kernel_choices;
  std::vector<LaunchCost> launch_costs;
  std::vector<MeasuredPeak> peaks;
  std::vector<double> prediction_errors{};  // of earlier runs: predicted / measured time - 1

  LAPTIME_FIELDS(kernel_choices, launch_costs, peaks, prediction_errors)
};

// Returns the knowledge about a device, given its device_key. Null if the caller has no store.
using KnowledgeOf = std::function<MachineKnowledge(const std::string& device)>;

// Identifies the machine; constant while the program runs.
std::string machine_fingerprint();

// The key of stored measurements: machine and device.
std::string device_key(const Device& device);

// Reads and writes a store's knowledge about a device. put() leaves out the prediction errors.
MachineKnowledge knowledge_of(const Store& store, const std::string& device);
void put(Store& store, const MachineKnowledge& knowledge);

// Adds newer measurements, possibly of several devices: a choice replaces the one with the same key, the better of two
// peaks is kept (better_of), and costs of the same launch are merged (with_newer). Prediction errors are not added.
void merge(MachineKnowledge& into, const MachineKnowledge& newer);

// The part of `all` that was measured on one device.
MachineKnowledge of_device(MachineKnowledge all, const std::string& device);

}  // namespace laptime
