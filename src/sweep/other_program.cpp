// Starts a program, and reads its standard output and standard error until both are closed and it has ended.
#include "sweep/other_program.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <csignal>

#include "base/host_clock.h"
#include "sweep/pipe.h"
#include "sweep/program_end.h"
#include "sweep/start_program.h"

namespace laptime {
namespace {

constexpr size_t kMostOutput = size_t{256} << 20U;
constexpr size_t kKeptErrors = size_t{16} << 10U;
constexpr double kExitCheck = 0.01;  // seconds between polls of a program that was killed or has closed its output

}  // namespace

OtherProgram run_other_program(const std::vector<std::string>& words, Seconds timeout, StopSignals& signals) {
  Pipe output;
  Pipe errors;
  const pid_t child =
      start_program(words, {.output = output.writing(), .errors = errors.writing(), .has_own_session = true});
  output.close_writing();
  errors.close_writing();
  OtherProgram found;
  int output_end = output.reading();
  int errors_end = errors.reading();
  int stops = 0;
  int status = 0;
  bool is_killed = false;
  bool is_reaped = false;
  const Seconds deadline = host_now() + timeout;
  // After a kill, does not wait for the pipes, because a process that has left the group may keep them open.
  while (!is_reaped) {
    const int now = signals.count();
    is_killed = is_killed || found.output.size() > kMostOutput || host_now() > deadline || now > 1;
    if (is_killed || now != stops) kill(-child, is_killed ? SIGKILL : SIGTERM);
    stops = now;
    const bool is_ending = is_killed || (output_end < 0 && errors_end < 0);
    is_reaped = is_ending && waitpid(child, &status, WNOHANG) != 0;
    std::array<pollfd, 3> waiting{pollfd{output_end, POLLIN, 0}, pollfd{errors_end, POLLIN, 0},
                                  pollfd{signals.descriptor(), POLLIN, 0}};
    const double left = is_ending ? kExitCheck : std::max(0.0, (deadline - host_now()).count());
    poll(waiting.data(), waiting.size(), static_cast<int>(std::min(1000.0, std::ceil(left * 1e3))));
    if (output_end >= 0) found.output += read_some(output_end);
    if (errors_end >= 0) found.errors += read_some(errors_end);
    if (found.errors.size() > kKeptErrors) found.errors.erase(0, found.errors.size() - kKeptErrors);
  }
  found.exit_code = exit_code_of(status);
  return found;
}

Record record_of_program(const std::vector<std::string>& words, Seconds timeout, StopSignals& signals) {
  const OtherProgram ran = run_other_program(words, timeout, signals);
  const size_t end = ran.output.find('\n');
  if (end != std::string::npos) return parse_record(std::string_view(ran.output).substr(0, end));
  Record none;
  none.status = Status::kFailed;
  none.reason = last_line(ran.errors);
  if (none.reason.empty()) none.reason = fmt::format("exit code {} without a record", ran.exit_code);
  return none;
}

}  // namespace laptime
