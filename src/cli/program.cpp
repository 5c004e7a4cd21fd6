// What surrounds every command: standard streams, signals, and errors that become messages.
#include "cli/program.h"

#include <fcntl.h>
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <new>

#include "base/error.h"
#include "base/units.h"
#include "cli/args.h"
#include "cli/destination.h"
#include "cli/terminal.h"
#include "sweep/stop_signals.h"

namespace laptime {
namespace {

// A file opened later must not get the descriptor of a closed standard stream: closed ones are opened on /dev/null, for
// reading alone, so that writing to them still fails.
void hold_standard_streams() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(descriptor, F_GETFD) < 0 && open("/dev/null", O_RDONLY) < 0) return;
  }
}

// Where the address space is limited (`ulimit -v`), all threads share one heap, as each heap reserves
// 64 MiB.
void share_limited_heap() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) mallopt(M_ARENA_MAX, 1);
}

// Error if the stacks of this program and its threads would be too small; a stack that overflows is no error that could
// be reported.
void require_stack() {
  constexpr rlim_t kNeeded = rlim_t{512} << 10U;
  rlimit limit{};
  if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= kNeeded) return;
  throw Error::format("the limit on the stack is {}, too small to run; allow more, for example with `ulimit -s 8192`",
                      format_bytes(static_cast<int64_t>(limit.rlim_cur)));
}

}  // namespace

ExitCode run_program(const std::vector<std::string>& words) {
  hold_standard_streams();
  ignore_failed_writes();
  share_limited_heap();
  try {
    require_stack();
    return parse_arguments(words)();
  } catch (const ReaderGone&) {
    return StopSignals::requested() ? ExitCode::kInterrupted : ExitCode::kOk;
  } catch (const OutputLost& error) {
    print_message(error.what());
    return StopSignals::requested() ? ExitCode::kInterrupted : ExitCode::kFailed;
  } catch (const Error& error) {
    print_message(error.what());
    return ExitCode::kBadInput;
  } catch (const std::bad_alloc&) {
    print_message("out of memory before anything could run; allow the program more (ulimit -v, ulimit -d)");
    return ExitCode::kFailed;
  }
}

}  // namespace laptime
