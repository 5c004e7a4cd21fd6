// Plans rounds from the times of a trial run of each point, and collects their figures.
#include "cli/rounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/fields.h"
#include "base/host_clock.h"
#include "base/words.h"
#include "cli/progress.h"
#include "sweep/other_program.h"

namespace laptime {
namespace {

constexpr int64_t kLookWarmup = 2;  // of the first look
constexpr int64_t kLookSteps = 3;
constexpr int64_t kRoundWarmup = 1;
constexpr int64_t kFewestSteps = 2;  // of a process
constexpr int64_t kMostSteps = 100;
constexpr Seconds kStepsTake{0.1};  // in a process of short steps: extra rounds reduce variance more than extra steps
constexpr Seconds kLongStep{0.5};   // one of these is traced, not three
constexpr int64_t kMostPlanned = 200;

bool gives_steps(const ResolvedPoint& point) { return point.config.warmup || point.config.steps; }

// Collects the records of the trial runs.
class TrialRuns : public PointOutput {
 public:
  void add(const PointResult& result) override { records_.push_back(result.record); }
  bool is_announced() const override { return true; }
  const std::vector<Record>& records() const { return records_; }

 private:
  std::vector<Record> records_;
};

struct RoundPlan {
  int64_t steps = 0;   // samples of each process
  int64_t traced = 0;  // steps of each process whose launches are timed
  int64_t rounds = 0;  // at most
};

RoundPlan plan_rounds(const RoundsRequest& request, const std::vector<Record>& looks) {
  RoundPlan plan;
  Seconds longest{};
  Seconds set_up{};
  for (const Record& look : looks) {
    longest = std::max(longest, Seconds{look.main_time()->mean});
    set_up += Seconds{look.setup.total.value_or(0) - look.setup.kernel_trial.value_or(0)};
  }
  const bool is_timed = longest.count() > 0;
  plan.steps = is_timed ? std::clamp(static_cast<int64_t>(std::ceil(kStepsTake / longest)), kFewestSteps, kMostSteps)
                        : kMostSteps;
  if (gives_steps(request.a)) plan.steps = looks.front().stopping.steps.value_or(plan.steps);
  plan.traced = longest > kLongStep ? 1 : 3;
  const auto steps = static_cast<double>(looks.front().stopping.warmup.value_or(0) + plan.steps + 2 * plan.traced);
  const Seconds round = 2 * longest * steps + set_up;
  const int64_t affordable = round.count() > 0 ? static_cast<int64_t>(request.budget / round) : kMostPlanned;
  plan.rounds = std::clamp(affordable, kFewestRounds, kMostPlanned);
  return plan;
}

std::string failure_text(const std::string& side, const Record& record) {
  return fmt::format("{}: {}: {}", side, name_of(record.status), record.reason);
}

// The rounds so far, and whether more are needed.
class FoundRounds : public PointOutput {
 public:
  // `sides`: of the processes, in their order; 0 for A.
  FoundRounds(const RoundsRequest& request, const std::vector<size_t>& sides) : request_(request), sides_(sides) {}

  void add(const PointResult& result) override {
    const size_t side = sides_.at(seen_);
    if (result.record.status != Status::kOk) {
      found_.failure = failure_text(side == 0 ? "A" : "B", result.record);
      return;
    }
    (side == 0 ? round_.a : round_.b) = round_figures(result.record, result.trace);
    if (++seen_ % 2 == 0) found_.rounds.push_back(std::exchange(round_, {}));
  }
  bool has_enough() const override {
    if (!found_.failure.empty()) return true;
    if (seen_ % 2 != 0 || static_cast<int64_t>(found_.rounds.size()) < kFewestRounds) return false;
    return 2 * ratio_of(found_.rounds).half_width() <= request_.margin || host_now() - start_ > request_.budget;
  }
  bool is_announced() const override { return true; }

  Rounds take(ExitCode code) {
    found_.elapsed = host_now() - start_;
    found_.code = code == ExitCode::kOk && !found_.failure.empty() ? ExitCode::kFailed : code;
    return std::move(found_);
  }

 private:
  const RoundsRequest& request_;
  const std::vector<size_t>& sides_;
  Seconds start_ = host_now();
  size_t seen_ = 0;
  ComparedRound round_;
  Rounds found_;
};

// The order of A and B in each round is drawn, so that neither a drift nor what ran before favours one.
std::vector<size_t> drawn_order(int64_t rounds, int64_t seed) {
  std::vector<size_t> sides;
  for (int64_t round = 0; round < rounds; ++round) {
    const size_t first = hash_combine(static_cast<uint64_t>(seed), static_cast<uint64_t>(round)) >> 63U;
    sides.insert(sides.end(), {first, 1 - first});
  }
  return sides;
}

// Both points with this many steps, unless they specify their own.
std::vector<ResolvedPoint> both(const RoundsRequest& request, int64_t warmup, int64_t steps) {
  std::vector<ResolvedPoint> points{request.a, request.b};
  for (ResolvedPoint& point : points) {
    if (gives_steps(point)) continue;
    point.config.warmup = warmup;
    point.config.steps = steps;
  }
  return points;
}

void announce(const RoundPlan& plan) {
  const std::string fewest = plan.rounds > kFewestRounds ? fmt::format("{} to ", kFewestRounds) : "";
  print_message(fmt::format("{}{}, each a process of {} for A and for B", fewest, counted(plan.rounds, "round"),
                            counted(plan.steps, "step")));
}

// Lets `program` measure the point once. If it prints no record, the reason of the returned one says why.
Record measured_by(const std::string& program, const RoundsRequest& request, int64_t warmup, int64_t steps,
                   StopSignals& signals) {
  std::vector<std::string> words{program, "bench"};
  words.insert(words.end(), request.programs->words.begin(), request.programs->words.end());
  if (!gives_steps(request.a)) {
    for (const auto& [flag, value] : {std::pair{"--warmup", warmup}, std::pair{"--steps", steps}})
      words.insert(words.end(), {flag, fmt::format("{}", value)});
  }
  words.insert(words.end(), {"--store", "none", "--output", "jsonl", "--columns", "all"});
  const OtherProgram ran = run_other_program(words, 2 * Seconds{request.a.config.timeout}, signals);
  const size_t end = ran.output.find('\n');
  if (end != std::string::npos) return parse_record(std::string_view(ran.output).substr(0, end));
  Record none;
  none.status = Status::kFailed;
  const size_t last = ran.errors.find_last_not_of('\n');
  const std::string_view errors = std::string_view(ran.errors).substr(0, last + 1);
  none.reason = errors.empty() ? fmt::format("exit code {} without a record", ran.exit_code)
                               : std::string(errors.substr(errors.rfind('\n') + 1));
  return none;
}

// The processes to run, and the steps of each.
struct Processes {
  std::vector<size_t> sides;  // in their order; 0 for A
  int64_t warmup = 0;
  int64_t steps = 0;
  int64_t traced = 0;  // steps whose launches are timed; none of another program
};

ExitCode run_programs(const RoundsRequest& request, const Processes& processes, PointOutput& output) {
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
  const std::vector<ResolvedPoint> sides = both(request, processes.warmup, processes.steps);
  std::vector<ResolvedPoint> points;
  points.reserve(processes.sides.size());
  for (const size_t side : processes.sides) points.push_back(sides.at(side));
  return run_watched(points,
                     {.store = request.store,
                      .name = request.run_name,
                      .trace = {.wanted = processes.traced > 0, .traced_steps = processes.traced},
                      .keeps_traces = false},
                     output);
}

}  // namespace

Rounds measure_rounds(const RoundsRequest& request) {
  print_message(fmt::format("A: {}; B: {}: one trial run each, then at least {} rounds", request.names.a,
                            request.names.b, kFewestRounds));
  TrialRuns trials;
  const ExitCode tried = run(request, {.sides = {0, 1}, .warmup = kLookWarmup, .steps = kLookSteps}, trials);
  for (size_t i = 0; i < trials.records().size(); ++i) {
    const Record& record = trials.records()[i];
    if (record.status != Status::kOk || record.main_time() == nullptr)
      return {ExitCode::kFailed, {}, {}, failure_text(i == 0 ? request.names.a : request.names.b, record)};
  }
  if (tried != ExitCode::kOk) return {tried, {}, {}, {}};
  const RoundPlan plan = plan_rounds(request, trials.records());
  announce(plan);
  const Processes processes{.sides = drawn_order(plan.rounds, request.a.config.seed),
                            .warmup = kRoundWarmup,
                            .steps = plan.steps,
                            .traced = plan.traced};
  FoundRounds found(request, processes.sides);
  return found.take(run(request, processes, found));
}

}  // namespace laptime
