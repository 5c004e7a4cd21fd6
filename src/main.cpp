// Entry point: prepares the process, runs the command and returns its exit code.
#include <fcntl.h>
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cli/command.h"

namespace {

// Opens /dev/null in place of each closed standard stream, so that a file opened later does not get the descriptor of
// that stream. The mode is read-only, so that writing to the stream still fails.
void hold_standard_streams() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(descriptor, F_GETFD) < 0 && open("/dev/null", O_RDONLY) < 0) return;
  }
}

// Makes all threads share one malloc arena if the address space is limited (`ulimit -v`), because each further arena
// reserves 64 MiB.
void share_limited_heap() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) mallopt(M_ARENA_MAX, 1);
}

}  // namespace

int main(int argc, char** argv) {
  hold_standard_streams();
  share_limited_heap();
  return static_cast<int>(laptime::run_program({argv + (argc > 0 ? 1 : 0), argv + argc}));
}
