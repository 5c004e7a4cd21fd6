// Detects kills by the kernel's out-of-memory killer.
#pragma once

#include <cstdint>
#include <optional>

namespace laptime {

// Watches the counter `oom_kill` of /proc/vmstat from construction on.
class KernelKills {
 public:
  KernelKills() : before_(count()) {}

  // True if the counter has risen or cannot be read.
  bool may_have_risen() const { return !before_ || count() != before_; }

 private:
  static std::optional<int64_t> count();

  std::optional<int64_t> before_;
};

}  // namespace laptime
