// CoreClaim: keeps two points of laptime from measuring on the same cores of a machine at once.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <utility>

#include "sweep/pipe.h"

namespace laptime {

// Exclusive among the programs of a machine while the object exists. The kernel ends it when this process and its child
// processes have died, however that happens.
class CoreClaim {
 public:
  // Claims these cores. None if another program has claimed one of them. A file that cannot be locked gives the claim
  // to everyone.
  static std::optional<CoreClaim> take(std::span<const int64_t> cores,
                                       const std::filesystem::path& file = "/dev/shm/laptime-cores");

 private:
  explicit CoreClaim(Descriptor file) : file_(std::move(file)) {}

  Descriptor file_;
};

}  // namespace laptime
