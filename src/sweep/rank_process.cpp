// Joins the ranks, compares programs, runs the point, and ends all ranks together.
#include "sweep/rank_process.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
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

namespace laptime {
namespace {

constexpr Seconds kProgressInterval{0.1};
constexpr Seconds kResultGrace{5};  // for the result to be read before a rank that failed ends the run

void send(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) _exit(1);
    text.remove_prefix(static_cast<size_t>(written));
  }
}

void report_failure(const std::string& reason) { send(STDERR_FILENO, fmt::format("{}{}\n", kRankFailure, reason)); }

std::string read_line(int descriptor) {
  std::string line;
  for (char byte = 0; read(descriptor, &byte, 1) == 1 && byte != '\n';) line += byte;
  return line;
}

bool has_input(int descriptor) {
  pollfd waiting{descriptor, POLLIN, 0};
  return poll(&waiting, 1, 0) > 0;
}

class RankProcess {
 public:
  explicit RankProcess(int messages) : messages_(messages) {}

  int run() {
    const MpiLibrary* const mpi = mpi_library();
    if (mpi == nullptr) throw Error(missing_mpi());
    MpiGroup group(*mpi, report_failure);
    try {
      const RankRequest request = agreed_request(group);
      const bool is_complete = run_point(group, request);
      if (is_complete) gather(group, {});
      if (is_complete) return 0;
      poll(nullptr, 0, static_cast<int>(kResultGrace.count() * 1e3));  // whoever reads the result ends this process
    } catch (const std::exception& error) {
      report_failure(fmt::format("rank {} of {}: {}", group.rank(), group.size(), error.what()));
    }
    group.abort();
    return 1;
  }

 private:
  static RankRequest agreed_request(MpiGroup& group) {
    const std::string own = group.rank() == 0 ? read_line(STDIN_FILENO) : std::string();
    RankRequest request = parse_rank_request(broadcast(group, own));
    const Binary binary = this_binary();
    const std::vector<std::string> builds = gather(group, binary.id);
    for (size_t rank = 1; rank < builds.size(); ++rank) {
      if (builds[rank] != builds.front())
        throw Error::format("rank {} runs another build of laptime than rank 0 ({} and {}); install one on all nodes",
                            rank, builds[rank], builds.front());
    }
    if (request.point.config.ranks != group.size())
      throw Error::format("{} processes were started for --ranks {}", group.size(), request.point.config.ranks);
    return request;
  }

  // Whether the ranks are to end together.
  bool run_point(MpiGroup& group, const RankRequest& request) {
    const ResolvedPoint point(request.point);
    PointHooks hooks = group.rank() == 0 ? hooks_of_rank_0() : PointHooks();
    hooks.group = &group;
    const PointResult result = run_one(point, request.known, hooks, request.trace, request.described);
    if (group.rank() != 0) return true;
    send(messages_, message_text(result));
    return result.record.status == Status::kOk || result.record.status == Status::kInterrupted;
  }

  PointHooks hooks_of_rank_0() const {
    PointHooks hooks;
    hooks.interrupted = [] { return has_input(STDIN_FILENO); };
    hooks.planned = [messages = messages_](const Record& planned) { send(messages, message_text(planned)); };
    hooks.progress = [messages = messages_, stage = std::string(),
                      sent = Seconds()](const PointProgress& progress) mutable {
      const Seconds now = host_now();
      if (progress.stage == stage && progress.done > 1 && now - sent < kProgressInterval) return;
      stage = progress.stage;
      sent = now;
      send(messages, message_text(progress));
    };
    return hooks;
  }

  int messages_;
};

}  // namespace

int run_rank_process() {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const Descriptor messages(dup(STDOUT_FILENO));
  dup2(STDERR_FILENO, STDOUT_FILENO);  // what libraries print is no message
  try {
    return RankProcess(messages).run();
  } catch (const std::exception& error) {
    report_failure(error.what());
    return 1;
  }
}

}  // namespace laptime
