// Watches a child process from outside: whether it still computes, and whether the kernel killed it for memory.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "base/units.h"

namespace laptime {

// A process that computes, or that is served by a disk, uses CPU time. One that waits for a lock that nobody releases,
// or that has been stopped, uses none.
class Pulse {
 public:
  explicit Pulse(pid_t child) : child_(child), cpu_time_(cpu_time()) {}

  // To be called about once a second, with the time since the last call: how long the child has not used CPU time.
  Seconds silence(Seconds since_last_call);

 private:
  std::optional<Seconds> cpu_time() const;

  pid_t child_;
  std::optional<Seconds> cpu_time_;  // of all its threads, when it last was alive
  Seconds silence_{};
};

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
