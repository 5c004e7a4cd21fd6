// Reads the CPU clock of another process.
#include "sweep/pulse.h"

#include <ctime>

namespace laptime {
namespace {

constexpr Seconds kAlive{1e-3};  // less is what a process uses that only wakes up to wait again

}  // namespace

std::optional<Seconds> Pulse::cpu_time() const {
  clockid_t clock{};
  timespec time{};
  if (clock_getcpuclockid(child_, &clock) != 0 || clock_gettime(clock, &time) != 0) return std::nullopt;
  return Seconds(static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec));
}

Seconds Pulse::silence(Seconds since_last_call) {
  const std::optional<Seconds> now = cpu_time();
  silence_ += since_last_call;
  if (now && cpu_time_ && *now - *cpu_time_ < kAlive) return silence_;
  cpu_time_ = now;
  silence_ = Seconds();
  return silence_;
}

}  // namespace laptime
