// Keys, reads, writes and merges stored measurements.
#include "prepare/knowledge.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/machine.h"

namespace laptime {
namespace {

// Adds each item of `newer`; if an item with the same key exists, it becomes merged(existing, newer).
template <class Item, class Same, class Merged>
void merge_items(std::vector<Item>& into, const std::vector<Item>& newer, const Same& same, const Merged& merged) {
  for (const Item& item : newer) {
    const auto found = std::find_if(into.begin(), into.end(), [&](const Item& other) { return same(other, item); });
    if (found == into.end()) {
      into.push_back(item);
    } else {
      *found = merged(*found, item);
    }
  }
}

}  // namespace

std::string machine_fingerprint() {
  static const std::string kFingerprint = fingerprint(describe_machine());
  return kFingerprint;
}

std::string device_key(const Device& device) { return fmt::format("{}/{}", machine_fingerprint(), device.identity); }

MachineKnowledge knowledge_of(const Store& store, const std::string& device) {
  return {store.kernel_choices(device), store.launch_costs(device), store.measured_peaks(device),
          store.prediction_errors(device)};
}

void put(Store& store, const MachineKnowledge& knowledge) {
  store.put(knowledge.kernel_choices);
  store.put(knowledge.launch_costs);
  for (const MeasuredPeak& peak : knowledge.peaks) store.put(peak);
}

void merge(MachineKnowledge& into, const MachineKnowledge& newer) {
  const auto newest = [](const auto&, const auto& item) { return item; };
  merge_items(
      into.kernel_choices, newer.kernel_choices,
      [](const KernelChoice& a, const KernelChoice& b) { return a.device == b.device && a.signature == b.signature; },
      newest);
  merge_items(
      into.launch_costs, newer.launch_costs,
      [](const LaunchCost& a, const LaunchCost& b) {
        return a.device == b.device && a.threads == b.threads && a.signature == b.signature;
      },
      with_newer);
  merge_items(
      into.peaks, newer.peaks,
      [](const MeasuredPeak& a, const MeasuredPeak& b) { return a.device == b.device && a.name == b.name; }, better_of);
}

MachineKnowledge of_device(MachineKnowledge all, const std::string& device) {
  const auto is_of_another = [&](const auto& item) { return item.device != device; };
  std::erase_if(all.kernel_choices, is_of_another);
  std::erase_if(all.launch_costs, is_of_another);
  std::erase_if(all.peaks, is_of_another);
  return all;
}

}  // namespace laptime
