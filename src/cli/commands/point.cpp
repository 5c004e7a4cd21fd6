// laptime point: the program that a launcher runs for each point of a sweep.
#include <fcntl.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/command.h"
#include "sweep/pipe.h"
#include "sweep/point_server.h"

namespace laptime {
namespace {

ExitCode run_point() {
  if (isatty(STDIN_FILENO) == 1)
    throw Error("laptime point: reads a point from laptime bench --launcher; there is nothing to type here");
  const Descriptor messages(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  if (messages < 0) throw Error("laptime point: standard output is closed; it takes the messages to the sweep");
  dup2(STDERR_FILENO, STDOUT_FILENO);  // whatever a library prints
  serve_point(STDIN_FILENO, messages);
  return ExitCode::kOk;
}

CommandAction parse_point(const CommandWords&) { return run_point; }

}  // namespace

constinit const Command kPoint{
    .name = "point",
    .summary = "run one point for the sweep of another machine (used by --launcher)",
    .details =
        "The launcher of laptime bench --launcher runs this on the machine that it chooses. It reads the point from "
        "standard input and writes progress and the record to standard output.",
    .parse = parse_point,
};

}  // namespace laptime
