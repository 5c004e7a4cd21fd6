// Claims: of the programs that resume from one store, only one measures a given point; and of the points that launchers
// start on a machine, only one runs on a given core.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <utility>

#include "record/record.h"
#include "sweep/pipe.h"

namespace laptime {

// A claim is exclusive while the object exists. If this process ends early, for whatever reason, the operating system
// releases the claim once the children of this process have ended too.

// A claim on a point, which excludes other programs that use the same store.
class PointClaim {
 public:
  // Claims the point that `described` identifies (describe_point). None if another program has the claim. If the store
  // cannot be locked, every program gets the claim.
  //
  // The store must not be open in this process when a claim is taken or released: closing any descriptor of a file
  // drops the locks that SQLite holds on it.
  static std::optional<PointClaim> take(const std::filesystem::path& store, const Record& described);

 private:
  explicit PointClaim(Descriptor store) : store_(std::move(store)) {}

  Descriptor store_;
};

// A claim on cores, which excludes other programs on the same machine.
class CoreClaim {
 public:
  // Claims the cores. None if another program has claimed one of them. If the file cannot be locked, every claim
  // succeeds.
  static std::optional<CoreClaim> take(std::span<const int64_t> cores,
                                       const std::filesystem::path& file = "/dev/shm/laptime-cores");

 private:
  explicit CoreClaim(Descriptor file) : file_(std::move(file)) {}

  Descriptor file_;
};

}  // namespace laptime
