// Reads the counters and computes their differences.
#include "base/machine_state.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <system_error>
#include <utility>

#include "base/cores.h"
#include "base/proc_text.h"

namespace laptime {
namespace {

// Seconds that the threads of this process waited for a core, according to their schedstat files.
std::optional<double> waiting_seconds(const std::filesystem::path& root) {
  std::optional<double> seconds;
  std::error_code error;
  // A thread may end before its file is read.
  for (std::filesystem::directory_iterator thread(root / "proc/self/task", error), end; !error && thread != end;
       thread.increment(error)) {
    const auto text = read_text_file(thread->path() / "schedstat");
    const auto waiting = text ? parse_run_delay(*text) : std::nullopt;
    if (waiting) seconds = seconds.value_or(0) + *waiting;
  }
  return seconds;
}

template <class T>
std::optional<T> grown(const std::optional<T>& before, const std::optional<T>& after) {
  // A core's counter may decrease by a tick when the core becomes idle.
  if (!before || !after) return std::nullopt;
  return std::max(T{}, *after - *before);
}

}  // namespace

MachineCounters::MachineCounters(std::filesystem::path root)
    : root_(std::move(root)), cores_(allowed_cores(root_)), cpu_groups_(cgroups_of("cpu", root_)) {}

MachineState MachineCounters::read() const {
  MachineState state;
  if (const auto stat = read_text_file(root_ / "proc/stat")) {
    const auto ticks = parse_steal_ticks(*stat, cores_);
    const int64_t ticks_per_second = sysconf(_SC_CLK_TCK);
    if (ticks && ticks_per_second > 0) {
      state.stolen_seconds = static_cast<double>(*ticks) / static_cast<double>(ticks_per_second);
    }
  }
  if (const auto throttling = read_throttling(cpu_groups_)) {
    state.throttled_seconds = throttling->seconds;
    state.throttled_periods = throttling->periods;
  }
  state.waiting_seconds = waiting_seconds(root_);
  if (const auto text = read_text_file(root_ / "proc/loadavg")) {
    const std::vector<double> averages = parse_load_average(*text);
    if (!averages.empty()) state.load = averages.front();
  }
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) == 0) {
    const auto seconds = [](const timeval& time) {
      return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
    };
    state.user_seconds = seconds(usage.ru_utime);
    state.system_seconds = seconds(usage.ru_stime);
    state.involuntary_switches = usage.ru_nivcsw;
    state.minor_faults = usage.ru_minflt;
    state.major_faults = usage.ru_majflt;
  }
  return state;
}

MachineState change(const MachineState& before, const MachineState& after) {
  MachineState difference = after;
  const auto subtract = [&](auto... counters) {
    ((difference.*counters = grown(before.*counters, after.*counters)), ...);
  };
  using State = MachineState;
  subtract(&State::stolen_seconds, &State::throttled_seconds, &State::waiting_seconds, &State::throttled_periods,
           &State::user_seconds, &State::system_seconds, &State::involuntary_switches, &State::minor_faults,
           &State::major_faults);
  return difference;
}

std::optional<double> lost_fraction(const std::optional<double>& lost, Seconds wall, int64_t threads) {
  const double all = wall.count() * static_cast<double>(threads);
  if (!lost || all <= 0) return std::nullopt;
  return std::clamp(*lost / all, 0.0, 1.0);
}

}  // namespace laptime
