// SweepStore: keeps finished points and new measurements, in a store if there is one, else in memory.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "measure/run_one.h"
#include "record/record.h"
#include "record/store.h"

namespace laptime {

// The store is open only during a call, so that the process may fork between calls.
class SweepStore {
 public:
  // Creates the file; Error if it is not writable. Without a path everything is kept in memory.
  explicit SweepStore(std::optional<std::filesystem::path> path);

  // The finished record of this point from the same binary and machine.
  std::optional<Store::Finished> finished(const Record& described, bool traced = false) const;

  MachineKnowledge known(const std::string& device) const;

  // Stores the point durably. If the store fails, returns the reason, and the next call tries again.
  std::optional<std::string> keep(const PointResult& point);

  // Number of points that could not be stored.
  size_t lost() const { return path_ ? unsaved_.size() : 0; }

 private:
  std::optional<std::filesystem::path> path_;
  std::vector<PointResult> unsaved_;
  MachineKnowledge known_;  // measured in this sweep
};

}  // namespace laptime
