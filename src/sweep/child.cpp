// Runs a point in a child process: forks, receives messages, and classifies how the child ended.
#include "sweep/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <new>
#include <optional>
#include <string>

#include "base/available_memory.h"
#include "base/error.h"
#include "base/host_clock.h"
#include "base/units.h"
#include "base/words.h"
#include "sweep/child_messages.h"
#include "sweep/pipe.h"
#include "sweep/program_end.h"
#include "sweep/start_program.h"

namespace laptime {
namespace {

// Detects a hanging process. A process that computes or waits for a disk uses CPU time. A process that waits for a lock
// that is never released, or that has been stopped, uses none.
class Pulse {
 public:
  explicit Pulse(pid_t child) : child_(child), cpu_time_(cpu_time()) {}

  // Call at least once a second with the time since the last call. Returns for how long the child has used no CPU time.
  Seconds silence(Seconds since_last_call) {
    constexpr double kPolling = 1e-3;  // a process that uses at most this share of a core is only polling
    const std::optional<Seconds> now = cpu_time();
    const bool only_polls = now && cpu_time_ && *now - *cpu_time_ <= kPolling * since_last_call;
    cpu_time_ = now;
    silence_ = only_polls ? silence_ + since_last_call : Seconds();
    return silence_;
  }

 private:
  std::optional<Seconds> cpu_time() const {
    clockid_t clock{};
    timespec time{};
    if (clock_getcpuclockid(child_, &clock) != 0 || clock_gettime(clock, &time) != 0) return std::nullopt;
    return Seconds(static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec));
  }

  pid_t child_;
  std::optional<Seconds> cpu_time_;  // total over the child's threads at the last call
  Seconds silence_{};
};

// Watches the counter `oom_kill` of /proc/vmstat from construction on.
class KernelKills {
 public:
  KernelKills() : before_(count()) {}

  // True if the counter has risen or cannot be read.
  bool may_have_risen() const { return !before_ || count() != before_; }

 private:
  static std::optional<int64_t> count() {
    std::ifstream counters("/proc/vmstat");
    std::string name;
    for (int64_t value = 0; counters >> name >> value;) {
      if (name == "oom_kill") return value;
    }
    return std::nullopt;
  }

  std::optional<int64_t> before_;
};

constexpr int kOutOfMemoryExit = 78;  // exit code of a child whose own allocation failed
constexpr Seconds kTick{1};           // interval between checks of a child that sends nothing
constexpr double kSlowerStep = 30;    // limit on a step as a multiple of the slowest earlier one
constexpr Seconds kExitGrace{2};      // time for a child to exit after closing its pipes
constexpr size_t kMaxKeptOutput = size_t{16} << 10U;

// ---- child process

[[noreturn]] void run_as_child(const PointBody& body, int messages, int output, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  PointHooks hooks = hooks_to(messages);
  hooks.interrupted = StopSignals::pending;
  int code = 1;
  try {
    send_text(messages, message_text(body(hooks)));
    code = 0;
  } catch (const std::bad_alloc&) {
    code = kOutOfMemoryExit;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
  }
  std::fflush(nullptr);
  _exit(code);
}

// ---- parent process

// Why the parent ended the child, if it did.
enum class End : uint8_t {
  kByItself,
  kTimedOut,
  kSilent,  // no CPU time and no message
  kStuck,   // running a step that takes far longer than the earlier ones
  kOpen,    // still running after closing its pipes
};

// Everything that the parent observed about a child.
struct Observed {
  std::optional<PointResult> result;
  Record known;  // the point's latest record before its result
  PointProgress progress;
  std::string garbage;  // first text that is not a message
  std::string output;   // the end of the child's printed output
  int wait_status = 0;
  Seconds cpu_time{};  // CPU time used by the child
  End end = End::kByItself;
  int stops = 0;  // stop signals received while the child ran
};

class Listener {
 public:
  Listener(pid_t child, int messages, int output, StopSignals& signals, const ChildCallbacks& callbacks,
           Observed& observed)
      : child_(child),
        messages_(messages),
        output_(output),
        signals_(signals),
        callbacks_(callbacks),
        observed_(observed) {}

  // Handles messages, output and signals until the child has exited.
  void listen(const ChildLimits& limits) {
    Pulse pulse(child_);
    asker_ = limits.asker;
    for (Seconds last = host_now(); messages_ >= 0 || output_ >= 0;) {
      // A stop signal may also have arrived between the sweep's last check and the start of the child.
      handle_stops(signals_.count() + asked_stops_);
      wait_for_input(killed_ ? Seconds(-1) : std::min(kTick, limits.timeout - elapsed_));
      const Seconds now = host_now();
      // If more than two ticks have passed, this process was suspended, and the child probably was too.
      const Seconds passed = std::min(now - last, 2 * kTick);
      last = now;
      elapsed_ += passed;
      since_message_ += passed;
      if (!killed_) enforce(limits, pulse.silence(passed));
      if (messages_ >= 0) read_messages();
      if (output_ >= 0) read_output();
      if (asker_ >= 0) hear_asker();
    }
    reap();
  }

 private:
  // Kills a child that has used up its time or that hangs.
  void enforce(const ChildLimits& limits, Seconds silence) {
    if (elapsed_ >= limits.timeout) {
      observed_.end = End::kTimedOut;
    } else if (std::min(silence, since_message_) >= limits.silence) {
      observed_.end = End::kSilent;
    } else if (is_stepping() && since_message_ >= std::max(2 * limits.silence, kSlowerStep * slowest_step_)) {
      observed_.end = End::kStuck;
    } else {
      return;
    }
    kill_child();
  }

  // True if the child has run a step and will run more. Step times are comparable, because all steps run the same plan.
  bool is_stepping() const {
    const PointProgress& progress = observed_.progress;
    return progress.done > 0 && (progress.expected == 0 || progress.done < progress.expected);
  }

  void wait_for_input(Seconds left) const {
    std::array<pollfd, 4> waiting{pollfd{messages_, POLLIN, 0}, pollfd{output_, POLLIN, 0}, pollfd{asker_, POLLIN, 0},
                                  pollfd{signals_.descriptor(), POLLIN, 0}};
    const double milliseconds = std::ceil(left.count() * 1e3);
    poll(waiting.data(), waiting.size(), left.count() < 0 ? -1 : static_cast<int>(std::min(milliseconds, 1e9)));
  }

  void read_messages() {
    const size_t seen = unread_.size();
    unread_ += read_some(messages_);
    if (unread_.size() > seen) since_message_ = Seconds();
    size_t line = 0;
    for (size_t end = unread_.find('\n', seen); end != std::string::npos; end = unread_.find('\n', line)) {
      handle_message(std::string_view(unread_).substr(line, end - line));
      line = end + 1;
    }
    unread_.erase(0, line);
    if (unread_.size() > kMaxDocumentBytes || (messages_ < 0 && !unread_.empty())) reject(unread_);
  }

  void handle_message(std::string_view line) {
    try {
      ChildMessage message = parse_message(line);
      if (auto* const progress = std::get_if<PointProgress>(&message)) {
        observed_.progress = *progress;
        slowest_step_ = std::max(slowest_step_, Seconds(progress->step_seconds));
        if (callbacks_.progress) callbacks_.progress(*progress, elapsed_);
      } else if (auto* const planned = std::get_if<Record>(&message)) {
        observed_.known = std::move(*planned);
      } else {
        observed_.result = std::move(std::get<PointResult>(message));
      }
    } catch (const Error&) {
      reject(line);
    }
  }

  void reject(std::string_view text) {
    if (observed_.garbage.empty()) observed_.garbage = quote(text);
    unread_.clear();
    kill_child();
  }

  void read_output() {
    const std::string text = read_some(output_);
    if (text.empty()) return;
    if (callbacks_.output) callbacks_.output(text);
    observed_.output += text;
    if (observed_.output.size() > kMaxKeptOutput) observed_.output.erase(0, observed_.output.size() - kMaxKeptOutput);
  }

  void hear_asker() {
    if (!read_some(asker_).empty()) ++asked_stops_;
    if (asker_ < 0) kill_child();
  }

  void handle_stops(int stops) {
    if (stops == observed_.stops) return;
    observed_.stops = stops;
    if (stops > 1 || observed_.progress.done == 0) {
      kill_child();
    } else {
      kill(child_, SIGTERM);  // the child checks for this signal between steps
    }
  }

  void reap() {
    const Seconds deadline = host_now() + kExitGrace;
    rusage use{};
    while (wait4(child_, &observed_.wait_status, WNOHANG, &use) == 0) {
      if (host_now() > deadline) {
        observed_.end = End::kOpen;
        kill_child();
      }
      poll(nullptr, 0, 1);
    }
    for (const timeval& time : {use.ru_utime, use.ru_stime})
      observed_.cpu_time += Seconds{static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec)};
  }

  void kill_child() {
    if (!killed_) kill(child_, SIGKILL);
    killed_ = true;
  }

  pid_t child_;
  int messages_;
  int output_;
  int asker_ = -1;
  int asked_stops_ = 0;
  StopSignals& signals_;
  const ChildCallbacks& callbacks_;
  Observed& observed_;
  Seconds elapsed_{};        // time since the child started
  Seconds since_message_{};  // time since the child last wrote to the message pipe
  Seconds slowest_step_{};
  std::string unread_;
  bool killed_ = false;
};

std::string progress_text(const PointProgress& last) {
  if (last.stage.empty()) return "before it reported anything";
  if (last.done == 0) return fmt::format("at stage: {}", last.stage);
  return last.expected > 0 ? fmt::format("after step {} of {}", last.done, last.expected)
                           : fmt::format("after step {}", last.done);
}

PointResult make_result(const Observed& observed, Status status, const std::string& reason) {
  PointResult result{observed.known, {}};
  result.record.status = status;
  result.record.reason = reason;
  return result;
}

PointResult make_out_of_memory(const Observed& observed, std::optional<int64_t> available, const std::string& reason) {
  PointResult result = make_result(observed, Status::kOutOfMemory, reason);
  result.record.bytes_requested = observed.known.memory.predicted_peak_bytes;
  result.record.bytes_available = available;
  return result;
}

// "the limit on CPU time (ulimit -t, 3 s)" if the signal ended a process that used that much CPU time; otherwise empty.
std::string cpu_limit_reached(int signal, Seconds used) {
  constexpr Seconds kNear{1};  // the limit is in whole seconds
  rlimit limit{};
  if (signal != SIGXCPU && signal != SIGKILL) return {};
  if (getrlimit(RLIMIT_CPU, &limit) != 0) return {};
  const rlim_t seconds = signal == SIGXCPU ? limit.rlim_cur : std::min(limit.rlim_cur, limit.rlim_max);
  if (seconds == RLIM_INFINITY || used + kNear < Seconds{static_cast<double>(seconds)}) return {};
  return fmt::format("the limit on CPU time (ulimit -t, {} s)", seconds);
}

PointResult classify(const Observed& observed, const ChildLimits& limits, const KernelKills& kills,
                     std::optional<int64_t> available) {
  const std::string where = progress_text(observed.progress);
  if (observed.end == End::kTimedOut) {
    return make_result(observed, Status::kTimeout,
                       fmt::format("no result within {}; the process was killed {}; allow more time with --timeout",
                                   format_seconds(limits.timeout.count()), where));
  }
  if (observed.end == End::kSilent) {
    return make_result(
        observed, Status::kTimeout,
        fmt::format("the process of the point hung and was killed {}: it used no CPU time for {}; run the point again",
                    where, format_seconds(limits.silence.count())));
  }
  if (observed.end == End::kStuck) {
    return make_result(observed, Status::kTimeout,
                       fmt::format("the process of the point hung and was killed {}: a step took over 30 times as long "
                                   "as the slowest earlier step; run the point again",
                                   where));
  }
  if (observed.result && observed.garbage.empty()) return *observed.result;
  if (observed.stops > 0)
    return make_result(observed, Status::kInterrupted, fmt::format("stopped by a signal {}", where));
  if (!observed.garbage.empty()) {
    return make_result(
        observed, Status::kFailed,
        fmt::format("the process of the point sent {}, which is not a valid message; report this as a defect",
                    observed.garbage));
  }
  if (observed.end == End::kOpen)
    return make_result(observed, Status::kFailed,
                       fmt::format("the process of the point closed its pipes {} without sending a result; run the "
                                   "point again",
                                   where));
  if (WIFSIGNALED(observed.wait_status)) {
    const int signal = WTERMSIG(observed.wait_status);
    if (const std::string limit = cpu_limit_reached(signal, observed.cpu_time); !limit.empty())
      return make_result(observed, Status::kFailed, fmt::format("ended by {} {}; raise that limit", limit, where));
    if (signal == SIGKILL && kills.may_have_risen()) {
      return make_out_of_memory(
          observed, available,
          fmt::format("killed by the operating system {}, probably because memory ran out; use a smaller "
                      "model, batch or context",
                      where));
    }
    if (signal == SIGKILL)
      return make_result(observed, Status::kFailed, fmt::format("killed by another process {}", where));
    const char* const name = sigabbrev_np(signal);
    return make_result(observed, Status::kFailed,
                       fmt::format("ended by SIG{} ({}) {}{}", name == nullptr ? std::to_string(signal) : name,
                                   sigdescr_np(signal) == nullptr ? "signal" : sigdescr_np(signal), where,
                                   first_line(observed.output)));
  }
  const int code = WEXITSTATUS(observed.wait_status);
  if (code == kOutOfMemoryExit) {
    return make_out_of_memory(
        observed, available,
        fmt::format("memory could not be allocated {}; use a smaller model, batch or context", where));
  }
  return make_result(
      observed, Status::kFailed,
      fmt::format("ended {}, without a result (exit code {}){}", where, code, first_line(observed.output)));
}

}  // namespace

PointResult run_in_child(const Record& described, const PointBody& body, const ChildLimits& limits,
                         StopSignals& signals, const ChildCallbacks& callbacks) {
  Observed observed;
  observed.known = described;
  const KernelKills kills;
  const std::optional<int64_t> available = available_memory().bytes;
  Pipe messages;
  Pipe output;
  std::fflush(nullptr);  // otherwise the child would write buffered text again
  const pid_t parent = getpid();
  pid_t child = 0;
  {
    const StopSignals::Blocked blocked;
    child = fork();
    if (child == 0) run_as_child(body, messages.writing(), output.writing(), parent);
  }
  if (child < 0) {
    const std::string reason =
        fmt::format("the system could not create a process ({}); {}", std::strerror(errno), kMoreProcesses);
    return errno == ENOMEM ? make_out_of_memory(observed, available, reason)
                           : make_result(observed, Status::kFailed, reason);
  }
  messages.close_writing();
  output.close_writing();
  Listener(child, messages.reading(), output.reading(), signals, callbacks, observed).listen(limits);
  return classify(observed, limits, kills, available);
}

}  // namespace laptime
