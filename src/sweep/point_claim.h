// PointClaim: announces to other programs with the same store that this one is measuring a point.
#pragma once

#include <filesystem>
#include <optional>

#include "record/record.h"

namespace laptime {

// Exclusive among the programs that use a store, for as long as the object exists. The kernel releases it when this
// process and its child processes have ended, for whatever reason.
class PointClaim {
 public:
  // Claims the point that `described` identifies (describe_point). Empty if another program has the claim. If the store
  // cannot be locked, every program gets the claim.
  //
  // The store must not be open in this process when a claim is taken or released: closing any descriptor of a file
  // drops the locks that SQLite holds on it.
  static std::optional<PointClaim> take(const std::filesystem::path& store, const Record& described);

  PointClaim(PointClaim&& other) noexcept;
  PointClaim& operator=(PointClaim&& other) noexcept;
  ~PointClaim();

 private:
  explicit PointClaim(int descriptor) : descriptor_(descriptor) {}

  int descriptor_ = -1;
};

}  // namespace laptime
