// Reads the CPU clock of another process, and /proc/vmstat.
#include "sweep/child_watch.h"

#include <ctime>
#include <fstream>
#include <string>

namespace laptime {
namespace {

constexpr Seconds kAlive{1e-3};  // below this, the process only polled

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

std::optional<int64_t> KernelKills::count() {
  std::ifstream counters("/proc/vmstat");
  std::string name;
  for (int64_t value = 0; counters >> name >> value;) {
    if (name == "oom_kill") return value;
  }
  return std::nullopt;
}

}  // namespace laptime
