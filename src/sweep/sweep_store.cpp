// Opens the store for each use and closes it afterwards.
#include "sweep/sweep_store.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "prepare/knowledge.h"
#include "prepare/prepare.h"
#include "sweep/stop_signals.h"

namespace laptime {
namespace {

Store::Finished named_as(const Record& described, Store::Finished found) {
  found.record.name = described.name;
  found.record.label = described.label;
  return found;
}

// True if the step would recompute the same activations as in `stored`. With `--recompute auto`, the choice of
// activations depends on the memory that is available now.
bool recomputes_alike(const ResolvedPoint& point, const Record& stored, const SweepStore& store) {
  if (point.config.recompute != "auto") return true;
  if (!point.device) return false;
  try {
    const Prepared now = prepare(point.config, *point.device, store.known(point.device_key));
    return now.memory.recompute == stored.memory.recompute;
  } catch (const Error&) {
    return false;
  }
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

std::optional<Store::Finished> SweepStore::reusable(const ResolvedPoint& point, const Record& described,
                                                    std::optional<int64_t> traced_steps) const {
  std::optional<Store::Finished> found = finished(described, traced_steps);
  if (!found || !recomputes_alike(point, found->record, *this)) return std::nullopt;
  return named_as(described, std::move(*found));
}

std::optional<Store::Finished> SweepStore::reusable_anywhere(const Record& described) {
  if (!path_) return std::nullopt;
  try {
    const Store store = Store::open(*path_, Store::Access::kRead, StopSignals::requested);
    if (!finished_) finished_ = store.finished_by_asked_hash(described.binary.id);
    const auto found = finished_->find(described.asked_hash);
    if (found == finished_->end()) return std::nullopt;
    std::optional<Record> record = store.record_at(found->second);
    if (!record) return std::nullopt;
    return named_as(described, {found->second, std::move(*record), std::nullopt});
  } catch (const Error&) {
    return std::nullopt;  // the point is measured again; keep() reports the failing store
  }
}

MachineKnowledge SweepStore::known(const std::string& device) const {
  if (!path_) return of_device(known_, device);
  try {
    const Store store = Store::open(*path_, Store::Access::kRead, StopSignals::requested);
    return knowledge_of(store, device);
  } catch (const Error&) {
    return of_device(known_, device);
  }
}

size_t SweepStore::restore(Store& store) {
  size_t restored = 0;
  for (KeptRecord& kept : kept_) {
    if (store.has(kept.id, kept.run, kept.name)) continue;
    kept.id = store.append(kept.text, kept.trace);
    ++restored;
  }
  if (restored > 0) put(store, known_);
  return restored;
}

std::optional<std::string> SweepStore::save() {
  std::error_code ignored;  // opening the store reports the problem
  if (path_->has_parent_path()) std::filesystem::create_directories(path_->parent_path(), ignored);
  try {
    Store store = Store::open(*path_, Store::Access::kWrite, StopSignals::requested);
    size_t restored = 0;
    if (!kept_.empty() && !store.has(kept_.back().id, kept_.back().run, kept_.back().name)) restored = restore(store);
    if (restored > 0) taken_.clear();  // the store no longer has the records with these ids
    if (!taken_.empty()) store.add_resumed(run_, taken_);
    taken_.clear();
    while (!unsaved_.empty()) {
      const PointResult& next = unsaved_.front();
      std::string text = to_text(next.record);
      const int64_t id = store.append(text, next.trace);
      kept_.push_back({id, next.record.run, next.record.name, std::move(text), next.trace});
      merge(unsaved_knowledge_, next.learned);
      unsaved_.erase(unsaved_.begin());
    }
    put(store, unsaved_knowledge_);
    unsaved_knowledge_ = {};
    if (restored > 0) {
      return fmt::format(
          "store '{}': removed, emptied or replaced while in use; {} records of this run have been written again, "
          "but the store's earlier contents are lost",
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

void SweepStore::took(std::string_view run, int64_t id) {
  run_ = run;
  taken_.push_back(id);
}

std::optional<std::string> SweepStore::settle() {
  if (!path_ || (kept_.empty() && unsaved_.empty() && taken_.empty())) return std::nullopt;
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
