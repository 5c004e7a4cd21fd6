// Pulse: tells a child process that hangs from one that is slow.
#pragma once

#include <sys/types.h>

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

}  // namespace laptime
