// Keeps as many points running as the launcher allows, and retries lost points.
#include "sweep/launched_sweep.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <utility>

#include "base/error.h"
#include "base/host_clock.h"
#include "base/words.h"
#include "measure/describe.h"
#include "sweep/launched_point.h"

namespace laptime {
namespace {

constexpr const char* kServer = "point";  // the laptime command that runs one point
constexpr int kLimitCheckInterval = 500;  // milliseconds between checks of time limits

std::vector<std::string> words_of(const Launcher& launcher, std::initializer_list<std::string> program) {
  std::vector<std::string> words = launcher.words;
  words.insert(words.end(), program);
  return words;
}

void wait_for(const std::vector<const LaunchedPoint*>& points, const StopSignals& signals) {
  std::vector<pollfd> polled{{signals.descriptor(), POLLIN, 0}};
  for (const LaunchedPoint* const point : points) point->add_to(polled);
  poll(polled.data(), polled.size(), kLimitCheckInterval);
}

constexpr Seconds kNoLimit{1e9};

// Waits until the launched program has ended. Returns false if a signal arrives first.
bool run_to_end(LaunchedPoint& process, StopSignals& signals) {
  while (!process.is_over()) {
    wait_for({&process}, signals);
    if (signals.count() > 0) return false;
    process.look({});
  }
  return true;
}

std::string with_error(const LaunchedPoint& process) {
  const std::string error = process.last_error();
  return fmt::format("exit code {}{}{}", process.exit_code(), error.empty() ? "" : ": ", error);
}

class Attempts {
 public:
  Attempts(const Launcher& launcher, const std::vector<size_t>& points, StopSignals& signals,
           const LaunchCallbacks& callbacks)
      : launcher_(launcher), signals_(signals), callbacks_(callbacks) {
    for (const size_t index : points) waiting_.push_back({index, 1, {}, {}});
  }

  void run() {
    while (!running_.empty() || !waiting_.empty()) {
      heed_signals();
      start();
      if (running_.empty()) return;
      std::vector<const LaunchedPoint*> processes;
      processes.reserve(running_.size());
      for (const Attempt& attempt : running_) processes.push_back(attempt.process.get());
      wait_for(processes, signals_);
      look();
    }
  }

 private:
  struct Attempt {
    size_t index = 0;
    int number = 1;
    Seconds started{};
    std::unique_ptr<LaunchedPoint> process;
  };

  void heed_signals() {
    const int stops = signals_.count();
    if (stops == stops_) return;
    waiting_.clear();
    for (const Attempt& attempt : running_) stops == 1 ? attempt.process->stop() : attempt.process->end();
    stops_ = stops;
  }

  void start() {
    while (running_.size() < launcher_.jobs && !waiting_.empty()) {
      Attempt attempt = std::move(waiting_.front());
      waiting_.pop_front();
      if (attempt.number == 1) {
        attempt.started = host_now();
        if (callbacks_.begin) callbacks_.begin(attempt.index);
      }
      attempt.process = std::make_unique<LaunchedPoint>(words_of(launcher_, {launcher_.program, kServer}),
                                                        message_text(callbacks_.request(attempt.index)),
                                                        callbacks_.timeout(attempt.index));
      running_.push_back(std::move(attempt));
    }
  }

  void look() {
    for (size_t i = 0; i < running_.size();) {
      Attempt& attempt = running_[i];
      const bool had_result = attempt.process->result().has_value();
      attempt.process->look(
          {.known = [&](const PointHello& hello) { return message_text(callbacks_.known(hello.device)); },
           .progress =
               [&](const PointProgress& progress) {
                 if (i == 0 && callbacks_.progress)
                   callbacks_.progress(attempt.index, progress, host_now() - attempt.started);
               }});
      if (!had_result && attempt.process->result()) take_result(attempt);
      if (!attempt.process->is_over()) {
        ++i;
        continue;
      }
      if (!attempt.process->result()) take_loss(attempt);
      running_.erase(running_.begin() + static_cast<ptrdiff_t>(i));
    }
  }

  // Stores or retries a point as soon as its result has arrived, while its launcher may still be running.
  void take_result(Attempt& attempt) {
    PointResult& result = *attempt.process->result();
    const Status status = result.record.status;
    const bool is_settled = status == Status::kOk || status == Status::kOutOfMemory || status == Status::kUnsupported;
    if (!is_settled && may_try_again(attempt))
      return try_again(attempt, fmt::format("{}: {}", name_of(status), result.record.reason));
    finish(attempt, std::move(result));
  }

  void take_loss(Attempt& attempt) {
    const std::string error = attempt.process->last_error();
    if (may_try_again(attempt)) {
      return try_again(attempt, fmt::format("lost: {}{}{}", attempt.process->loss(), error.empty() ? "" : ": ", error));
    }
    PointResult lost = callbacks_.lost(attempt.index);
    lost.record.status = stops_ > 0 ? Status::kInterrupted : Status::kFailed;
    lost.record.reason =
        stops_ > 0 ? "stopped by a signal before a result arrived" : "lost: " + attempt.process->loss();
    // A point that had not begun when the user stopped the sweep has no record.
    if (stops_ > 0 && !attempt.process->hello()) return;
    finish(attempt, std::move(lost));
  }

  bool may_try_again(const Attempt& attempt) const { return attempt.number == 1 && stops_ == 0; }

  void try_again(const Attempt& attempt, const std::string& reason) {
    if (callbacks_.again) callbacks_.again(attempt.index, reason);
    waiting_.push_back({attempt.index, attempt.number + 1, attempt.started, {}});
  }

  void finish(const Attempt& attempt, PointResult result) {
    Record& record = result.record;
    if (attempt.number > 1 && !record.reason.empty()) record.reason += "; tried twice";
    const Seconds placement = attempt.process->placement();
    if (attempt.process->hello()) record.setup.placement = placement.count();
    callbacks_.finished(attempt.index, {std::move(result), placement}, host_now() - attempt.started);
  }

  const Launcher& launcher_;
  StopSignals& signals_;
  const LaunchCallbacks& callbacks_;
  std::deque<Attempt> waiting_;
  std::vector<Attempt> running_;  // in the order of their starts
  int stops_ = 0;                 // number of signals handled so far
};

void probe(const Launcher& launcher, StopSignals& signals) {
  constexpr const char* kWord = "laptime-probe";
  const std::string command = quote(joined(launcher.words, " "));
  LaunchedPoint process(words_of(launcher, {launcher.program, kServer}), probe_text(), kNoLimit);
  if (!run_to_end(process, signals)) return;
  if (const std::optional<PointHello>& hello = process.hello()) {
    if (!hello->asked) {
      throw Error::format(
          "{} does not pass standard input to the program; leave out the option that closes it (ssh -n, srun "
          "--input=none)",
          command);
    }
    if (hello->binary == this_binary().id) return;
    throw Error::format(
        "{} on the other machine is a different build of laptime; install the build of this machine there",
        quote(launcher.program));
  }
  // Runs echo, to distinguish a launcher that reaches no machine from a machine without laptime.
  LaunchedPoint word(words_of(launcher, {"echo", kWord}), "", kNoLimit);
  if (!run_to_end(word, signals)) return;
  if (word.other_output().find(kWord) != std::string::npos) {
    throw Error::format("{} reaches a machine that does not run {} ({}); put this program there under the same path",
                        command, quote(launcher.program), with_error(process));
  }
  if (word.exit_code() != 0)
    throw Error::format("{} reaches no machine ({}); try {} echo word", command, with_error(word),
                        joined(launcher.words, " "));
  throw Error::format(
      "{} does not return the output of a program; leave out options such as --output, and give a command "
      "that waits for the program (srun, not sbatch)",
      command);
}

}  // namespace

void probe_launcher(const Launcher& launcher, StopSignals& signals) {
  try {
    probe(launcher, signals);
  } catch (const Error& error) {
    throw Error::format("--launcher: {}", error.what());
  }
}

void run_launched(const Launcher& launcher, const std::vector<size_t>& points, StopSignals& signals,
                  const LaunchCallbacks& callbacks) {
  Attempts(launcher, points, signals, callbacks).run();
}

}  // namespace laptime
