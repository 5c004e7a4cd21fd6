// The way into every command, and out of it.
#include "cli/commands.h"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <new>

#include "base/build_id.h"
#include "base/error.h"
#include "cli/destination.h"
#include "report/text.h"

namespace laptime {
namespace {

// A closed stream must not be the number of a file that is opened later: it stays one that refuses every byte.
void hold_standard_streams() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(descriptor, F_GETFD) < 0 && open("/dev/null", O_RDONLY) < 0) return;
  }
}

void print(const std::string& text) { write_all(STDOUT_FILENO, text, "standard output"); }

}  // namespace

void print_message(const std::string& message) {
  const bool is_prefixed = message.rfind("laptime ", 0) == 0 || message.rfind("laptime:", 0) == 0;
  try {
    write_all(STDERR_FILENO, (is_prefixed ? "" : "laptime: ") + printable(message) + "\n", "standard error");
  } catch (const OutputLost&) {
    return;  // there is nobody to tell
  }
}

ExitCode run_command(const HelpCommand& command) {
  print(command.text);
  return ExitCode::kOk;
}

ExitCode run_command(const VersionCommand&) {
  std::string text = fmt::format("laptime {} ({}{}, {}, {})\n", version(), git_commit(),
                                 git_dirty() ? ", modified" : "", build_type(), compiler());
  for (const LibraryVersion& library : library_versions())
    text += fmt::format("{} {}\n", library.name, library.version);
  print(text);
  return ExitCode::kOk;
}

ExitCode run_program(const std::vector<std::string>& words) {
  hold_standard_streams();
  std::signal(SIGPIPE, SIG_IGN);  // a reader that has gone is an error like any other,
  std::signal(SIGXFSZ, SIG_IGN);  // and so is a file that may not grow (ulimit -f)
  try {
    return std::visit([](const auto& command) { return run_command(command); }, parse_arguments(words));
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
