// What a sweep keeps: finished points and what they have learned, in a store or, without one, in memory.
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

// The store is open only inside each call, so that a process may be forked between them.
class SweepStore {
 public:
  // Makes the file, and Error unless it can be written to. No path: nothing outlives the sweep.
  explicit SweepStore(std::optional<std::filesystem::path> path);

  // The finished record of this point, by this binary on this machine.
  std::optional<Record> finished(const Record& described) const;

  MachineKnowledge known(const std::string& device) const;

  // Durable when it returns, unless the store fails: then the reason, and the point is written with the next one.
  std::optional<std::string> keep(const PointResult& point);

  // Points that the store has not taken.
  size_t lost() const { return path_ ? waiting_.size() : 0; }

 private:
  std::optional<std::filesystem::path> path_;
  std::vector<PointResult> waiting_;
  MachineKnowledge known_;  // learned in this sweep
};

}  // namespace laptime
