// CoreClaim: keeps two points of laptime from measuring on the same cores of a machine at once.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <utility>

#include "sweep/pipe.h"

namespace laptime {

// Exclusive among the programs on a machine while the object exists. The kernel releases the claim when this process
// and its child processes have ended, for whatever reason.
class CoreClaim {
 public:
  // Claims these cores. None if another program has claimed one of them. If the file cannot be locked, every claim
  // succeeds.
  static std::optional<CoreClaim> take(std::span<const int64_t> cores,
                                       const std::filesystem::path& file = "/dev/shm/laptime-cores");

 private:
  explicit CoreClaim(Descriptor file) : file_(std::move(file)) {}

  Descriptor file_;
};

}  // namespace laptime
