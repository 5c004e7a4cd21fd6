// Whether the kernel's out-of-memory killer has been at work.
#pragma once

#include <cstdint>
#include <optional>

namespace laptime {

// The kernel's own count of its kills, /proc/vmstat's `oom_kill`, from construction on.
class KernelKills {
 public:
  KernelKills() : before_(count()) {}

  // True where the count has risen, and where there is none to read.
  bool may_have_risen() const { return !before_ || count() != before_; }

 private:
  static std::optional<int64_t> count();

  std::optional<int64_t> before_;
};

}  // namespace laptime
