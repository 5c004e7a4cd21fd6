// SweepStore: keeps finished points and new machine knowledge in a store. Without a store, keeps only the knowledge, in
// memory.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "measure/run_one.h"
#include "prepare/resolved_point.h"
#include "record/record.h"
#include "record/store.h"

namespace laptime {

// The store is open only during a call, so that the process may fork between calls.
class SweepStore {
 public:
  // Creates the file; throws Error if it is not writable. Without a path, finished points are not kept.
  explicit SweepStore(std::optional<std::filesystem::path> path);

  // The finished record of this point from the same binary and machine. With `traced_steps`, the record must have a
  // trace of at least that many steps.
  std::optional<Store::Finished> finished(const Record& described,
                                          std::optional<int64_t> traced_steps = std::nullopt) const;

  // The stored record that can replace a run of the point, returned with the name and label of `described`. With
  // --recompute auto, the record must have recomputed the activations that a run would recompute now.
  std::optional<Store::Finished> reusable(const ResolvedPoint& point, const Record& described,
                                          std::optional<int64_t> traced_steps) const;

  // Like reusable(), for a point with the same requested options (asked_hash), from the same binary on any machine.
  // Takes the newest record. Only records that the store had at the first call are found.
  std::optional<Store::Finished> reusable_anywhere(const Record& described);

  MachineKnowledge known(const std::string& device) const;

  // Stores the point durably. If the store fails, returns the reason, and the next call tries again. If the file has
  // been removed or emptied meanwhile, writes this sweep's records again and returns a message about the loss.
  std::optional<std::string> keep(const PointResult& point);

  // Notes that `run` used the record with this id from the store; keep() or settle() writes the note.
  void took(std::string_view run, int64_t id);

  // Call after the last point: retries whatever could not be stored, and verifies that every point is in the store.
  std::optional<std::string> settle();

  // Number of points that should be in the store but are not; 0 without a store.
  size_t lost() const { return path_ ? unsaved_.size() + missing_ : 0; }

 private:
  struct KeptRecord {
    int64_t id = 0;
    std::string run;
    std::string name;
    std::string text;  // the record as JSON, which takes half the memory of a Record
    std::optional<StepTrace> trace;
  };
  // Writes kept records that are missing from the store. Returns how many.
  size_t restore(Store& store);
  std::optional<std::string> save();

  std::optional<std::filesystem::path> path_;
  std::vector<PointResult> unsaved_;
  MachineKnowledge unsaved_knowledge_;  // learned from stored points, but not yet stored itself
  std::string run_;                     // the run that used the records in taken_
  std::vector<int64_t> taken_;          // ids of used records that are not yet noted in the store
  std::vector<KeptRecord> kept_;
  std::optional<std::map<std::string, int64_t>> finished_;  // ids by asked_hash, read at the first request
  size_t missing_ = 0;      // records of kept_ that the store lacked at the end of the sweep
  MachineKnowledge known_;  // measured in this sweep
};

}  // namespace laptime
