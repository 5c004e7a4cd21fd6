// Joins the ranks, checks that all run the same program, runs points, and ends all ranks together.
#include "sweep/rank_process.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>
#include <string>

#include "base/error.h"
#include "base/host_clock.h"
#include "base/words.h"
#include "comm/agreement.h"
#include "comm/mpi_group.h"
#include "measure/describe.h"
#include "sweep/child_messages.h"
#include "sweep/pipe.h"
#include "sweep/rank_messages.h"
#include "sweep/start_program.h"

namespace laptime {
namespace {

constexpr Seconds kReadGrace{5};  // time for the parent to read the result before a failed rank ends the run

void report_failure(const std::string& reason) {
  send_text(STDERR_FILENO, fmt::format("{}{}\n", kRankFailure, reason));
}

// Returns the next line; empty at the end of the input. Skips kStopRanks, which may arrive after its point has ended.
std::string read_request(int descriptor) {
  for (;;) {
    std::string line;
    char byte = 0;
    while (read(descriptor, &byte, 1) == 1) {
      line += byte;
      if (byte == '\n') break;
    }
    if (line != kStopRanks) return line;
  }
}

class RankProcess {
 public:
  explicit RankProcess(const RankPipes& pipes) : requests_(pipes.requests), messages_(pipes.messages) {}

  int run(const std::string& started_as) {
    const MpiLibrary* const mpi = mpi_library();
    if (mpi == nullptr) {
      const std::string missing = missing_mpi();
      throw Error(missing.empty() ? "this MPI library lacks functions that laptime calls; use Open MPI 4 or 5"
                                  : missing);
    }
    MpiGroup group(*mpi, report_failure);
    try {
      require_alike(group, "was started with different options", started_as);
      require_alike(group, "runs a different build of the program", this_binary().id);
      for (bool is_complete = true; is_complete;) {
        const std::string request = broadcast(group, group.rank() == 0 ? read_request(requests_) : std::string());
        if (request.empty()) return 0;
        is_complete = run_point(group, parse_rank_request(request));
        if (is_complete) gather(group, {});
      }
      // Meanwhile the process that reads the result ends this one.
      poll(nullptr, 0, static_cast<int>(kReadGrace.count() * 1e3));
    } catch (const std::exception& error) {
      report_failure(fmt::format("rank {} of {}: {}", group.rank(), group.size(), error.what()));
    }
    group.abort();
    return 1;
  }

 private:
  static void require_alike(MpiGroup& group, const char* what, const std::string& own) {
    const std::vector<std::string> all = gather(group, own);
    for (size_t rank = 1; rank < all.size(); ++rank) {
      if (all[rank] != all.front())
        throw Error::format("rank {} {} than rank 0; start all ranks with the same command", rank, what);
    }
  }

  // Runs one point. Returns false if all ranks must end.
  bool run_point(MpiGroup& group, const RankRequest& request) {
    require_size(group.size(), request.point.config.ranks);
    const ResolvedPoint point(request.point);
    PointHooks hooks = group.rank() == 0 ? hooks_of_rank_0() : PointHooks();
    hooks.group = &group;
    if (hooks.planned) hooks.planned(request.described);  // says which point the next messages are about
    const PointResult result = run_one(point, request.known, hooks, request.trace, request.described);
    if (group.rank() != 0) return true;
    send_text(messages_, message_text(result));
    return result.record.status == Status::kOk || result.record.status == Status::kInterrupted;
  }

  PointHooks hooks_of_rank_0() const {
    PointHooks hooks = hooks_to(messages_);
    hooks.interrupted = [requests = requests_] { return has_input(requests); };
    return hooks;
  }

  int requests_;
  int messages_;
};

}  // namespace

void require_size(int64_t size, int64_t ranks) {
  if (size != ranks)
    throw Error::format("{} processes were started, but the point has --ranks {}; make both equal", size, ranks);
}

int run_rank_process(const RankPipes& pipes, const std::string& started_as) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  try {
    return RankProcess(pipes).run(started_as);
  } catch (const std::exception& error) {
    report_failure(error.what());
    return 1;
  }
}

RankPipes start_rank_0(const std::string& started_as) {
  std::array<int, 2> requests{};
  std::array<int, 2> messages{};
  if (pipe(requests.data()) != 0 || pipe(messages.data()) != 0) throw Error("cannot open pipes; raise `ulimit -n`");
  const pid_t process = fork();
  if (process < 0)
    throw Error::format("the system could not create a process ({}); {}", std::strerror(errno), kMoreProcesses);
  if (process == 0) {
    close(requests[1]);
    close(messages[0]);
    _exit(run_rank_process({requests[0], messages[1]}, started_as));
  }
  close(requests[0]);
  close(messages[1]);
  return {requests[1], messages[0], process};
}

}  // namespace laptime
