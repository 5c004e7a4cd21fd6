// Plans rounds from a trial run of each point, and collects their times.
#include "cli/rounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/host_clock.h"
#include "base/random.h"
#include "base/words.h"
#include "cli/progress.h"
#include "sweep/other_program.h"

namespace laptime {
namespace {

constexpr int64_t kLookWarmup = 2;  // warm-up steps of the trial run
constexpr int64_t kLookSteps = 3;
constexpr int64_t kRoundWarmup = 1;
constexpr int64_t kFewestSteps = 2;  // minimum steps per process
constexpr int64_t kMostSteps = 100;
// If steps are short, a process measures steps for this long. Extra rounds reduce variance more than extra steps would.
constexpr Seconds kStepsTake{0.1};
constexpr Seconds kLongStep{0.5};  // if a step takes this long, one step is traced instead of three
constexpr int64_t kMostPlannedRounds = 200;

bool gives_steps(const ResolvedPoint& point) { return point.config.warmup || point.config.steps; }

// The processes to run, and the number of steps in each.
struct Processes {
  std::vector<size_t> sides;  // sides in running order; 0 for A
  int64_t warmup = 0;
  int64_t steps = 0;   // measured steps
  int64_t traced = 0;  // steps whose launches are timed; 0 for another program
};

// Plans the rounds that fit in the budget. The order of A and B within a round is random, so that neither drift nor the
// preceding process favours one side.
Processes plan_rounds(const RoundsRequest& request, const std::vector<Record>& looks) {
  Seconds longest{};
  Seconds set_up{};
  for (const Record& look : looks) {
    longest = std::max(longest, Seconds{look.main_time()->mean});
    set_up += Seconds{look.setup.total.value_or(0) - look.setup.kernel_trial.value_or(0)};
  }
  Processes plan{.sides = {}, .warmup = kRoundWarmup, .steps = kMostSteps};
  if (!request.programs) plan.traced = longest > kLongStep ? 1 : 3;
  if (longest.count() > 0)
    plan.steps = std::clamp(static_cast<int64_t>(std::ceil(kStepsTake / longest)), kFewestSteps, kMostSteps);
  if (gives_steps(request.a)) {
    plan.warmup = looks.front().stopping.warmup.value_or(plan.warmup);
    plan.steps = looks.front().stopping.steps.value_or(plan.steps);
  }
  const auto steps = static_cast<double>(plan.warmup + plan.steps + 2 * plan.traced);
  const Seconds round = 2 * longest * steps + set_up;
  const int64_t affordable = round.count() > 0 ? static_cast<int64_t>(request.budget / round) : kMostPlannedRounds;
  const int64_t rounds = std::clamp(affordable, kFewestRounds, kMostPlannedRounds);
  for (int64_t i = 0; i < rounds; ++i) {
    const size_t first = hash_combine(static_cast<uint64_t>(request.a.config.seed), static_cast<uint64_t>(i)) >> 63U;
    plan.sides.insert(plan.sides.end(), {first, 1 - first});
  }
  const std::string fewest = rounds > kFewestRounds ? fmt::format("{} to ", kFewestRounds) : "";
  print_message(fmt::format("{}{}, each with one process of {} for A and one for B", fewest, counted(rounds, "round"),
                            counted(plan.steps, "step")));
  return plan;
}

std::string failure_text(const std::string& side, const Record& record) {
  return fmt::format("{}: {}: {}", side, name_of(record.status), record.reason);
}

// Runs `program` in a process that measures the point once.
Record measured_by(const std::string& program, const RoundsRequest& request, int64_t warmup, int64_t steps,
                   StopSignals& signals) {
  std::vector<std::string> words{program, "bench"};
  words.insert(words.end(), request.programs->words.begin(), request.programs->words.end());
  if (!gives_steps(request.a))
    words.insert(words.end(), {"--warmup", std::to_string(warmup), "--steps", std::to_string(steps)});
  words.insert(words.end(), {"--store", "none", "--output", "jsonl", "--columns", "all"});
  return record_of_program(words, 2 * Seconds{request.a.config.timeout}, signals);
}

ExitCode run_programs(const RoundsRequest& request, const Processes& processes, const PointOutput& output) {
  StopSignals signals;
  ProgressLine line(standard_error());
  const Seconds begun = host_now();
  for (size_t i = 0; i < processes.sides.size() && !output.has_enough(); ++i) {
    const std::string& program = processes.sides[i] == 0 ? request.programs->a : request.programs->b;
    line.show(0, fmt::format("round {} of at most {}: {}", i / 2 + 1, processes.sides.size() / 2, program),
              host_now() - begun);
    Record record = measured_by(program, request, processes.warmup, processes.steps, signals);
    line.clear();
    if (signals.count() > 0) return ExitCode::kInterrupted;
    output.add({std::move(record), {}, {}});
  }
  return ExitCode::kOk;
}

ExitCode run(const RoundsRequest& request, const Processes& processes, PointOutput& output) {
  if (request.programs) return run_programs(request, processes, output);
  std::vector<ResolvedPoint> sides{request.a, request.b};
  for (ResolvedPoint& point : sides) {
    if (gives_steps(point)) continue;
    point.config.warmup = processes.warmup;
    point.config.steps = processes.steps;
  }
  return run_watched(mapped(processes.sides, [&](size_t side) { return sides.at(side); }),
                     {.store = request.store,
                      .name = request.run_name,
                      .trace = {.wanted = processes.traced > 0, .traced_steps = processes.traced},
                      .keeps_traces = false,
                      .ranks = request.ranks},
                     output);
}

}  // namespace

Rounds measure_rounds(const RoundsRequest& request) {
  print_message(fmt::format("A: {}; B: {}: one trial run each, then at least {} rounds", request.names.a,
                            request.names.b, kFewestRounds));
  std::vector<Record> trials;
  PointOutput kept{.add = [&](const PointResult& result) { trials.push_back(result.record); }, .is_announced = true};
  const ExitCode tried = run(request, {.sides = {0, 1}, .warmup = kLookWarmup, .steps = kLookSteps}, kept);
  if (tried == ExitCode::kInterrupted) return {tried, {}, {}, {}};
  for (size_t i = 0; i < trials.size(); ++i) {
    if (trials[i].status != Status::kOk || trials[i].main_time() == nullptr)
      return {ExitCode::kFailed, {}, {}, failure_text(i == 0 ? request.names.a : request.names.b, trials[i])};
  }
  if (tried != ExitCode::kOk) return {tried, {}, {}, {}};
  const Processes processes = plan_rounds(request, trials);
  const Seconds start = host_now();
  Rounds found;
  ComparedRound round;
  size_t seen = 0;  // processes run so far
  PointOutput output{.is_announced = true};
  output.add = [&](const PointResult& result) {
    const bool is_a = processes.sides.at(seen) == 0;
    if (result.record.status != Status::kOk) {
      found.failure = failure_text(is_a ? "A" : "B", result.record);
      return;
    }
    (is_a ? round.a : round.b) = round_figures(result.record, result.trace);
    if (++seen % 2 == 0) found.rounds.push_back(std::exchange(round, {}));
  };
  output.has_enough = [&] {
    if (!found.failure.empty()) return true;
    if (seen % 2 != 0 || std::ssize(found.rounds) < kFewestRounds) return false;
    return 2 * ratio_of(found.rounds).half_width() <= request.margin || host_now() - start > request.budget;
  };
  found.code = run(request, processes, output);
  found.elapsed = host_now() - start;
  if (found.code == ExitCode::kOk && !found.failure.empty()) found.code = ExitCode::kFailed;
  return found;
}

}  // namespace laptime
