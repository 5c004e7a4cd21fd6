// Opens the store for each use and closes it afterwards.
#include "sweep/sweep_store.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "sweep/stop_signals.h"

namespace laptime {
namespace {

// Replaces the item with the same key, or appends.
template <class Item, class Same>
void replace(std::vector<Item>& items, const Item& item, const Same& same) {
  const auto found = std::find_if(items.begin(), items.end(), [&](const Item& other) { return same(other, item); });
  if (found == items.end()) {
    items.push_back(item);
  } else {
    *found = item;
  }
}

void merge(MachineKnowledge& into, const MachineKnowledge& from) {
  for (const KernelChoice& choice : from.kernel_choices) {
    replace(into.kernel_choices, choice, [](const KernelChoice& a, const KernelChoice& b) {
      return a.device == b.device && a.signature == b.signature;
    });
  }
  for (const LaunchCost& cost : from.launch_costs) {
    const auto known = std::find_if(into.launch_costs.begin(), into.launch_costs.end(), [&](const LaunchCost& other) {
      return other.device == cost.device && other.threads == cost.threads && other.signature == cost.signature;
    });
    if (known == into.launch_costs.end()) {
      into.launch_costs.push_back(cost);
    } else if (cost.seconds < known->seconds) {
      *known = cost;
    }
  }
  for (const MeasuredPeak& peak : from.peaks) {
    replace(into.peaks, peak,
            [](const MeasuredPeak& a, const MeasuredPeak& b) { return a.device == b.device && a.name == b.name; });
  }
}

MachineKnowledge known_of_device(const MachineKnowledge& all, const std::string& device) {
  MachineKnowledge known = all;
  std::erase_if(known.kernel_choices, [&](const KernelChoice& choice) { return choice.device != device; });
  std::erase_if(known.launch_costs, [&](const LaunchCost& cost) { return cost.device != device; });
  std::erase_if(known.peaks, [&](const MeasuredPeak& peak) { return peak.device != device; });
  return known;
}

void put(Store& store, const MachineKnowledge& knowledge) {
  store.put(knowledge.kernel_choices);
  store.put(knowledge.launch_costs);
  for (const MeasuredPeak& peak : knowledge.peaks) store.put(peak);
}

}  // namespace

SweepStore::SweepStore(std::optional<std::filesystem::path> path) : path_(std::move(path)) {
  if (path_) Store::open(*path_).check_writable();
}

std::optional<Store::Finished> SweepStore::finished(const Record& described,
                                                    std::optional<int64_t> traced_steps) const {
  if (!path_) return std::nullopt;
  try {
    return Store::open(*path_, Store::Access::kRead, StopSignals::requested)
        .find_finished(described.config_hash, described.binary.id, described.fingerprint, traced_steps);
  } catch (const Error&) {
    return std::nullopt;  // the point is measured again; keep() reports the failing store
  }
}

MachineKnowledge SweepStore::known(const std::string& device) const {
  if (!path_) return known_of_device(known_, device);
  try {
    const Store store = Store::open(*path_, Store::Access::kRead, StopSignals::requested);
    return {store.kernel_choices(device), store.launch_costs(device), store.measured_peaks(device)};
  } catch (const Error&) {
    return known_of_device(known_, device);
  }
}

size_t SweepStore::restore(Store& store) {
  size_t restored = 0;
  for (KeptRecord& kept : kept_) {
    if (store.has(kept.id, kept.run, kept.name)) continue;
    kept.id = store.append(kept.text, kept.trace);
    ++restored;
  }
  if (restored > 0) {
    put(store, known_);
  }
  return restored;
}

std::optional<std::string> SweepStore::save() {
  std::error_code ignored;  // opening the store says what is wrong
  if (path_->has_parent_path()) std::filesystem::create_directories(path_->parent_path(), ignored);
  try {
    Store store = Store::open(*path_, Store::Access::kWrite, StopSignals::requested);
    size_t restored = 0;
    if (!kept_.empty() && !store.has(kept_.back().id, kept_.back().run, kept_.back().name)) restored = restore(store);
    while (!unsaved_.empty()) {
      const PointResult& next = unsaved_.front();
      std::string text = to_text(next.record);
      const int64_t id = store.append(text, next.trace);
      kept_.push_back({id, next.record.run, next.record.name, std::move(text), next.trace});
      const MachineKnowledge learned = next.learned;
      unsaved_.erase(unsaved_.begin());
      put(store, learned);
    }
    if (restored > 0) {
      return fmt::format(
          "store '{}': removed, emptied or replaced while it was in use; {} records of this run are written to it "
          "again, "
          "what it held before is gone",
          path_->string(), restored);
    }
  } catch (const Error& error) {
    return error.what();
  }
  return std::nullopt;
}

std::optional<std::string> SweepStore::keep(const PointResult& point) {
  merge(known_, point.learned);
  if (!path_) return std::nullopt;
  unsaved_.push_back(point);
  return save();
}

std::optional<std::string> SweepStore::settle() {
  if (!path_ || (kept_.empty() && unsaved_.empty())) return std::nullopt;
  std::optional<std::string> problem = save();
  try {
    const Store store = Store::open(*path_, Store::Access::kRead, StopSignals::requested);
    missing_ = static_cast<size_t>(std::count_if(
        kept_.begin(), kept_.end(), [&](const KeptRecord& kept) { return !store.has(kept.id, kept.run, kept.name); }));
  } catch (const Error& error) {
    missing_ = kept_.size();
    if (!problem) problem = error.what();
  }
  return problem;
}

}  // namespace laptime
