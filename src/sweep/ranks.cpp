// Starts mpirun, sends rank 0 its request and reads its messages.
#include "sweep/ranks.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <optional>
#include <regex>
#include <utility>

#include "base/error.h"
#include "base/host_clock.h"
#include "base/words.h"
#include "sweep/child_messages.h"
#include "sweep/pipe.h"
#include "sweep/program_end.h"
#include "sweep/rank_messages.h"
#include "sweep/start_program.h"

namespace laptime {
namespace {

constexpr int kLookEvery = 100;  // milliseconds
constexpr size_t kMaxErrors = size_t{64} << 10U;
constexpr Seconds kRankEndGrace{3};  // time for ranks to exit after their result
constexpr Seconds kBreakGrace{3};    // time for mpirun to end all ranks after one of them has failed

class Ranks {
 public:
  Ranks(const PointHooks& hooks, const Record& described, const std::vector<std::string>& words)
      : hooks_(hooks), described_(described) {
    Pipe input;
    Pipe output;
    Pipe errors;
    // On SIGTERM, mpirun ends the ranks, and removes its files and shared memory. Ctrl-C must not reach the ranks: a
    // line of input asks them to stop after the current step.
    mpirun_ = start_program(words, {.input = input.reading(),
                                    .output = output.writing(),
                                    .errors = errors.writing(),
                                    .signal_of_our_death = SIGTERM,
                                    .has_own_session = true,
                                    .advice = "install openmpi-bin (Debian, Ubuntu)"});
    to_ = input.take_writing();
    from_ = output.take_reading();
    errors_ = errors.take_reading();
  }
  Ranks(const PointHooks& hooks, const Record& described, const RankPipes& started)
      : hooks_(hooks), described_(described), to_(dup(started.requests)), from_(dup(started.messages)) {}

  // Returns when mpirun has ended or, if the ranks were already running, when they have sent a result.
  void run(const RankRequest& request) {
    write_all(to_, message_text(request));  // fails if the ranks have ended; their messages say why
    int output = from_;
    int errors = errors_;
    while ((output >= 0 || errors >= 0) && (mpirun_ > 0 || !result_)) {
      std::array<pollfd, 2> waiting{pollfd{output, POLLIN, 0}, pollfd{errors, POLLIN, 0}};
      poll(waiting.data(), waiting.size(), kLookEvery);
      if (output >= 0) read_messages(read_some(output));
      if (errors >= 0) read_errors(read_some(errors));
      if (!stops_ && hooks_.interrupted && hooks_.interrupted()) {
        stops_ = true;
        write_all(to_, kStopRanks);
      }
      end_if_due();
    }
    if (mpirun_ <= 0) return;
    int status = 0;
    while (waitpid(mpirun_, &status, 0) < 0 && errno == EINTR) {}
    exit_code_ = exit_code_of(status);
  }

  const std::optional<PointResult>& result() const { return result_; }
  const std::optional<Record>& planned() const { return planned_; }
  std::string reason() const {
    return mpirun_ > 0 ? reason_of_ranks(all_errors_, exit_code_) : "a rank ended early; standard error says why";
  }

 private:
  void read_messages(const std::string& text) {
    unread_ += text;
    size_t line = 0;
    for (size_t end = unread_.find('\n'); end != std::string::npos; end = unread_.find('\n', line)) {
      handle(std::string_view(unread_).substr(line, end - line));
      line = end + 1;
    }
    unread_.erase(0, line);
  }

  void handle(std::string_view line) try {
    ChildMessage message = parse_message(line);
    if (const auto* const progress = std::get_if<PointProgress>(&message)) {
      if (planned_ && hooks_.progress) hooks_.progress(*progress);
    } else if (auto* const planned = std::get_if<Record>(&message)) {
      if (!is_of_point(*planned)) return;
      if (hooks_.planned) hooks_.planned(*planned);
      planned_ = std::move(*planned);
    } else {
      auto& result = std::get<PointResult>(message);
      if (!is_of_point(result.record)) return;
      result_ = std::move(result);
      if (mpirun_ > 0) to_ = Descriptor();  // closes the ranks' input: no more requests
      end_by(host_now() + (result_->record.status == Status::kOk ? kRankEndGrace : Seconds()));
    }
  } catch (const Error&) {
    read_errors(std::string(line) + "\n");  // mpirun itself writes to standard output too
  }

  // Ranks that the user started may still send messages of an earlier point, which ran into its timeout. The messages
  // of this point begin with its record.
  bool is_of_point(const Record& record) const {
    return record.name == described_.name && record.created == described_.created;
  }

  void read_errors(const std::string& text) {
    all_errors_ += text;
    if (all_errors_.size() > kMaxErrors) all_errors_.erase(kMaxErrors / 2, all_errors_.size() - kMaxErrors);
    if (!text.empty() && all_errors_.find(kRankFailure) != std::string::npos) end_by(host_now() + kBreakGrace);
  }

  void end_by(Seconds time) {
    if (!deadline_) deadline_ = time;
  }

  // Sends SIGTERM to mpirun at the first deadline and SIGKILL at the next. Either signal also ends the ranks.
  void end_if_due() {
    if (mpirun_ <= 0 || !deadline_ || host_now() < *deadline_) return;
    kill(mpirun_, was_asked_ ? SIGKILL : SIGTERM);
    was_asked_ = true;
    deadline_ = host_now() + kRankEndGrace;
  }

  const PointHooks& hooks_;
  const Record& described_;
  Descriptor to_, from_, errors_;
  pid_t mpirun_ = 0;  // 0: the ranks were already running
  std::string unread_, all_errors_;
  std::optional<PointResult> result_;
  std::optional<Record> planned_;
  std::optional<Seconds> deadline_;
  bool was_asked_ = false;
  bool stops_ = false;
  int exit_code_ = 0;
};

}  // namespace

std::vector<std::string> mpirun_words(const std::string& program, int64_t ranks, bool is_root) {
  // --bind-to none, because ranks place their threads themselves; --oversubscribe, because the number of ranks has
  // already been checked.
  std::vector<std::string> words{"mpirun", "-n", std::to_string(ranks), "--oversubscribe", "--bind-to", "none"};
  if (is_root) words.emplace_back("--allow-run-as-root");
  words.push_back(program);
  words.emplace_back(kRankWord);
  return words;
}

std::string reason_of_ranks(const std::string& errors, int exit_code) {
  const size_t failure = errors.find(kRankFailure);
  if (failure != std::string::npos) {
    const size_t begin = failure + kRankFailure.size();
    return errors.substr(begin, errors.find('\n', begin) - begin);
  }
  static const std::regex kDeath(R"(process rank (\d+)[^\n]*\n?[^\n]*exited on\s+signal (\d+) \(([^)]*)\))");
  if (std::smatch found; std::regex_search(errors, found, kDeath)) {
    return fmt::format("rank {} was ended by signal {} ({})", found[1].str(), found[2].str(), found[3].str());
  }
  return fmt::format("mpirun ended without a result, exit code {}{}", exit_code, first_line(errors));
}

PointResult run_ranks(const ResolvedPoint& point, const MachineKnowledge& known, const PointHooks& hooks,
                      const TraceRequest& trace, const Record& described, const RankPipes& started) {
  PointResult result{described, {}, {}};
  if (!point.device) return run_one(point, known, hooks, trace, described);
  if (started.requests >= 0) {
    // Plans here first: a failure on a rank would end all ranks that the user started, and later points need them.
    PointResult planned = plan_one(point, known, trace, described);
    if (planned.record.status != Status::kOk) return planned;
  }
  RankRequest request{point, described, known, trace};
  request.point.config.threads = point.device->threads;  // resolved here, so that all ranks use the same number
  const auto words = [&] {
    const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
    return mpirun_words(program, point.config.ranks, geteuid() == 0);
  };
  try {
    Ranks ranks = started.requests < 0 ? Ranks(hooks, described, words()) : Ranks(hooks, described, started);
    ranks.run(request);
    if (ranks.result()) return *ranks.result();
    if (ranks.planned()) result.record = *ranks.planned();
    result.record.reason = ranks.reason();
  } catch (const Error& error) {  // mpirun cannot be started
    result.record.reason = error.what();
  }
  result.record.status = Status::kFailed;
  return result;
}

}  // namespace laptime
