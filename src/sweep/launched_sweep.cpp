// Keeps as many points running as the launcher allows, and retries lost points.
#include "sweep/launched_sweep.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
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
    for (const size_t index : points) waiting_.push_back({.index = index});
  }
  // Ends all launchers first, because each attempt's destructor waits for its launcher.
  ~Attempts() {
    for (const Attempt& attempt : running_) attempt.process->end();
  }
  Attempts(const Attempts&) = delete;
  Attempts& operator=(const Attempts&) = delete;

  void run() {
    while (!running_.empty() || !waiting_.empty()) {
      heed_signals();
      start();
      if (running_.empty()) return;
      wait_for(mapped<const LaunchedPoint*>(running_, [](const Attempt& attempt) { return attempt.process.get(); }),
               signals_);
      look();
    }
  }

 private:
  struct Attempt {
    size_t index = 0;
    int number = 1;
    Seconds started{};                   // start of the first attempt
    std::optional<PlacedPoint> first{};  // result of the first attempt; used if the second has none
    std::unique_ptr<LaunchedPoint> process{};
  };

  void heed_signals() {
    const int stops = signals_.count();
    if (stops == stops_) return;
    clear_waiting();
    for (const Attempt& attempt : running_) stops == 1 ? attempt.process->stop() : attempt.process->end();
    stops_ = stops;
  }

  // Drops the attempts that have not started. A point that waits for its retry keeps its first result.
  void clear_waiting() {
    for (Attempt& attempt : std::exchange(waiting_, {})) {
      if (attempt.first) finish(attempt, *std::move(attempt.first));
    }
  }

  // While points are running, a start that fails (too many open files or processes) is tried again later.
  void start() {
    while (running_.size() < launcher_.jobs && !waiting_.empty()) {
      Attempt& attempt = waiting_.front();
      if (attempt.number == 1 && attempt.started.count() == 0) {
        attempt.started = host_now();
        if (callbacks_.begin) callbacks_.begin(attempt.index);
      }
      try {
        attempt.process = std::make_unique<LaunchedPoint>(words_of(launcher_, {launcher_.program, kServer}),
                                                          message_text(callbacks_.request(attempt.index)),
                                                          callbacks_.timeout(attempt.index));
      } catch (const Error&) {
        if (!running_.empty()) return;
        clear_waiting();
        throw;
      }
      running_.push_back(std::move(attempt));
      waiting_.pop_front();
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
    PlacedPoint placed{*std::move(attempt.process->result()), attempt.process->placement()};
    Record& record = placed.result.record;
    record.setup.placement = placed.placement.count();
    if (is_settled(record.status) || !may_try_again(attempt)) return finish_tried(attempt, std::move(placed));
    const std::string reason = fmt::format("{}: {}", name_of(record.status), record.reason);
    try_again(attempt, reason, std::move(placed));
  }

  void take_loss(Attempt& attempt) {
    const std::string error = attempt.process->last_error();
    if (may_try_again(attempt)) {
      return try_again(attempt, fmt::format("lost: {}{}{}", attempt.process->loss(), error.empty() ? "" : ": ", error),
                       std::nullopt);
    }
    if (attempt.first) return finish_tried(attempt, *std::move(attempt.first));
    PointResult lost = callbacks_.lost(attempt.index);
    lost.record.status = stops_ > 0 ? Status::kInterrupted : Status::kFailed;
    lost.record.reason =
        stops_ > 0 ? "stopped by a signal before a result arrived" : "lost: " + attempt.process->loss();
    // A point that had not begun when the user stopped the sweep has no record.
    if (stops_ > 0 && !attempt.process->hello()) return;
    const Seconds placement = attempt.process->placement();
    if (attempt.process->hello()) lost.record.setup.placement = placement.count();
    finish_tried(attempt, {std::move(lost), placement});
  }

  bool may_try_again(const Attempt& attempt) const { return attempt.number == 1 && stops_ == 0; }

  void try_again(const Attempt& attempt, const std::string& reason, std::optional<PlacedPoint> first) {
    if (callbacks_.again) callbacks_.again(attempt.index, reason);
    waiting_.push_back(
        {.index = attempt.index, .number = attempt.number + 1, .started = attempt.started, .first = std::move(first)});
  }

  void finish_tried(const Attempt& attempt, PlacedPoint placed) {
    std::string& reason = placed.result.record.reason;
    if (attempt.number > 1 && !reason.empty()) reason += "; tried twice";
    finish(attempt, placed);
  }

  void finish(const Attempt& attempt, const PlacedPoint& placed) {
    callbacks_.finished(attempt.index, placed, host_now() - attempt.started);
  }

  const Launcher& launcher_;
  StopSignals& signals_;
  const LaunchCallbacks& callbacks_;
  std::deque<Attempt> waiting_;
  std::vector<Attempt> running_;  // in the order in which they started
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
