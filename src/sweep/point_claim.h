// PointClaim: tells other programs with the same store that this one measures a point.
#pragma once

#include <filesystem>
#include <optional>

#include "record/record.h"

namespace laptime {

// Exclusive among the programs that use one store, while the object exists. The kernel ends it when this process and
// its child processes have died, however that happens.
class PointClaim {
 public:
  // Claims the point that `described` identifies (describe_point). Empty if another program has the claim. A store that
  // cannot be locked gives the claim to everyone.
  //
  // The store must not be open in this process while a claim is taken or ends: closing any descriptor of a file drops
  // the locks that SQLite holds on it.
  static std::optional<PointClaim> take(const std::filesystem::path& store, const Record& described);

  PointClaim(PointClaim&& other) noexcept;
  PointClaim& operator=(PointClaim&& other) noexcept;
  ~PointClaim();

 private:
  explicit PointClaim(int descriptor) : descriptor_(descriptor) {}

  int descriptor_ = -1;
};

}  // namespace laptime
