// Reads from the environment which rank a process is, and keeps there where rank 0 is.
#include "cli/ranks.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "base/words.h"
#include "sweep/rank_messages.h"

namespace laptime {
namespace {

constexpr const char* kPipes = "LAPTIME_RANK_PIPES";

std::optional<int> number_in(const char* variable) {
  const char* const text = std::getenv(variable);
  if (text == nullptr || *text == '\0') return std::nullopt;
  return std::atoi(text);
}

struct World {
  int rank = 0;
  int size = 1;
};

// Open MPI, then PMI (srun --mpi=pmi2, MPICH), then srun --mpi=pmix.
World world() {
  constexpr std::array<std::pair<const char*, const char*>, 3> kNames{
      std::pair{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}, std::pair{"PMI_RANK", "PMI_SIZE"},
      std::pair{"PMIX_RANK", "SLURM_STEP_NUM_TASKS"}};
  for (const auto& [rank, size] : kNames) {
    const std::optional<int> found = number_in(rank);
    const std::optional<int> count = number_in(size);
    if (found && count) return {*found, *count};
  }
  return {};
}

// Whether the command measures points, so that it may have ranks.
bool measures(const std::vector<std::string>& words) {
  constexpr std::array<std::string_view, 5> kCommands{"bench", "profile", "memory", "compare", "calibrate"};
  return !words.empty() && std::find(kCommands.begin(), kCommands.end(), words.front()) != kCommands.end();
}

}  // namespace

std::optional<ExitCode> run_as_rank(const std::vector<std::string>& words) {
  const auto code_of = [](int code) { return code == 0 ? ExitCode::kOk : ExitCode::kFailed; };
  if (words.size() == 1 && words.front() == kRankWord) {
    const int messages = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    dup2(STDERR_FILENO, STDOUT_FILENO);  // what libraries print is no message
    return code_of(run_rank_process({STDIN_FILENO, messages}, {}));
  }
  const World here = world();
  if (here.size <= 1 || !measures(words)) return std::nullopt;
  const std::string started_as = joined(words, " ");
  if (here.rank > 0) return code_of(run_rank_process({}, started_as));
  const RankPipes pipes = start_rank_0(started_as);
  setenv(kPipes, fmt::format("{},{},{}", pipes.requests, pipes.messages, pipes.process).c_str(), 1);
  return std::nullopt;
}

RankPipes running_ranks() {
  const char* const text = std::getenv(kPipes);
  RankPipes pipes;
  if (text == nullptr) return pipes;
  char* end = nullptr;
  pipes.requests = static_cast<int>(std::strtol(text, &end, 10));
  pipes.messages = static_cast<int>(std::strtol(end + 1, &end, 10));
  pipes.process = static_cast<int>(std::strtol(end + 1, nullptr, 10));
  return pipes;
}

void end_ranks() {
  constexpr int kLooks = 100;
  constexpr int kPause = 50;  // milliseconds
  const RankPipes pipes = running_ranks();
  if (pipes.process <= 0) return;
  close(pipes.requests);
  for (int look = 0; look < kLooks && waitpid(pipes.process, nullptr, WNOHANG) == 0; ++look) poll(nullptr, 0, kPause);
}

}  // namespace laptime
