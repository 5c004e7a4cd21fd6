// Reads from the environment which rank this process is, runs that rank, and starts and ends rank 0.
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "base/words.h"
#include "cli/command.h"
#include "cli/destination.h"
#include "sweep/rank_messages.h"

namespace laptime {
namespace {

struct World {
  int rank = 0;
  int size = 1;
};

// Reads the variables of Open MPI, of PMI (srun --mpi=pmi2, MPICH), or of srun --mpi=pmix, in this order.
World world() {
  constexpr std::array<std::pair<const char*, const char*>, 3> kNames{
      std::pair{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}, std::pair{"PMI_RANK", "PMI_SIZE"},
      std::pair{"PMIX_RANK", "SLURM_STEP_NUM_TASKS"}};
  for (const auto& [rank, size] : kNames) {
    const std::string found = variable(rank);
    const std::string count = variable(size);
    if (!found.empty() && !count.empty()) return {std::atoi(found.c_str()), std::atoi(count.c_str())};
  }
  return {};
}

// Whether the command measures points and can therefore have ranks.
bool measures(const std::vector<std::string>& words) {
  constexpr std::array<std::string_view, 5> kCommands{"bench", "profile", "memory", "compare", "calibrate"};
  return !words.empty() && std::ranges::find(kCommands, words.front()) != kCommands.end();
}

}  // namespace

std::optional<ExitCode> run_as_rank(const std::vector<std::string>& words, RankPipes& pipes) {
  const auto code_of = [](int code) { return code == 0 ? ExitCode::kOk : ExitCode::kFailed; };
  if (words.size() == 1 && words.front() == kRankWord) {
    const int messages = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    dup2(STDERR_FILENO, STDOUT_FILENO);  // keeps the output of libraries out of the messages
    return code_of(run_rank_process({STDIN_FILENO, messages}, {}));
  }
  const World here = world();
  if (here.size <= 1 || !measures(words)) return std::nullopt;
  const std::string started_as = joined(words, " ");
  if (here.rank > 0) return code_of(run_rank_process({}, started_as));
  pipes = start_rank_0(started_as);
  pipes.size = here.size;
  return std::nullopt;
}

void end_ranks(const RankPipes& pipes) {
  constexpr int kLooks = 400;
  constexpr int kPause = 50;  // milliseconds
  if (pipes.process <= 0) return;
  close(pipes.requests);
  close(pipes.messages);
  for (int look = 0; look < kLooks && waitpid(pipes.process, nullptr, WNOHANG) == 0; ++look) poll(nullptr, 0, kPause);
}

}  // namespace laptime
