// What surrounds every command: standard streams, signals, and errors that become messages.
#include "cli/program.h"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <new>

#include "base/error.h"
#include "cli/args.h"
#include "cli/destination.h"
#include "cli/message.h"

namespace laptime {
namespace {

// A file opened later must not get the descriptor of a closed standard stream: closed ones are opened on /dev/null, for
// reading alone, so that writing to them still fails.
void hold_standard_streams() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(descriptor, F_GETFD) < 0 && open("/dev/null", O_RDONLY) < 0) return;
  }
}

}  // namespace

ExitCode run_program(const std::vector<std::string>& words) {
  hold_standard_streams();
  // A write that fails is an Error like any other: to a pipe whose reader has gone, or beyond `ulimit -f`.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    return parse_arguments(words)();
  } catch (const OutputLost& error) {
    print_message(error.what());
    return ExitCode::kFailed;
  } catch (const Error& error) {
    print_message(error.what());
    return ExitCode::kBadInput;
  } catch (const std::bad_alloc&) {
    print_message("out of memory before anything could run; allow the program more (ulimit -v)");
    return ExitCode::kFailed;
  }
}

}  // namespace laptime
