// Plans rounds by what a first look at each point took, and collects what they find.
#include "cli/rounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/fields.h"
#include "base/host_clock.h"
#include "base/words.h"
#include "cli/message.h"
#include "cli/run_watched.h"
#include "cli/sweep_words.h"

namespace laptime {
namespace {

constexpr int64_t kLookWarmup = 2;  // of the first look
constexpr int64_t kLookSteps = 3;
constexpr int64_t kRoundWarmup = 1;
constexpr int64_t kFewestSteps = 2;  // of a process
constexpr int64_t kMostSteps = 100;
constexpr Seconds kStepsTake{0.1};  // in a process, where a step is shorter: rounds tell more than steps
constexpr Seconds kLongStep{0.5};   // of which one is traced, not three
constexpr int64_t kMostPlanned = 200;

bool gives_steps(const SweepPoint& point) { return point.config.warmup || point.config.steps; }

// Whether a point runs, and how long it takes.
class FirstLook : public PointOutput {
 public:
  void add(const PointResult& result) override { records_.push_back(result.record); }
  void finish() override {}
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

class RoundsOutput : public PointOutput {
 public:
  RoundsOutput(const RoundsRequest& request, const std::vector<size_t>& sides) : request_(request), sides_(sides) {}

  void add(const PointResult& result) override {
    const size_t side = sides_.at(seen_++);
    if (result.record.status != Status::kOk) {
      found_.failure = failure_text(side == 0 ? "A" : "B", result.record);
      return;
    }
    (side == 0 ? round_.a : round_.b) = round_figures(result.record, result.trace);
    if (seen_ % 2 == 0) found_.rounds.push_back(std::exchange(round_, {}));
  }
  bool is_announced() const override { return true; }
  bool has_enough() const override {
    if (!found_.failure.empty()) return true;
    if (seen_ % 2 != 0 || static_cast<int64_t>(found_.rounds.size()) < kFewestRounds) return false;
    return 2 * ratio_of(found_.rounds).half_width() <= request_.margin || host_now() - start_ > request_.budget;
  }
  void finish() override { found_.elapsed = host_now() - start_; }

  Rounds& found() { return found_; }

 private:
  const RoundsRequest& request_;
  const std::vector<size_t>& sides_;  // of the points, in their order: 0 for A
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

// The points with this many steps, unless they give theirs.
std::vector<SweepPoint> both(const RoundsRequest& request, int64_t warmup, int64_t steps) {
  std::vector<SweepPoint> points{request.a, request.b};
  for (SweepPoint& point : points) {
    if (gives_steps(point)) continue;
    point.config.warmup = warmup;
    point.config.steps = steps;
  }
  return points;
}

}  // namespace

void leave_out_options_of_rows(std::vector<OptionRow>& rows) {
  leave_out(rows, {"sort", "columns", "explain", "verbose", "quiet", "resume", "ablate", "label"});
}

Rounds measure_rounds(const RoundsRequest& request) {
  print_message(fmt::format("A: {}; B: {}: a look at each, then at least {} rounds", request.names.a, request.names.b,
                            kFewestRounds));
  FirstLook look;
  const ExitCode looked =
      run_watched(both(request, kLookWarmup, kLookSteps), {.store = request.store, .name = request.run_name}, look);
  for (size_t i = 0; i < look.records().size(); ++i) {
    const Record& record = look.records()[i];
    if (record.status != Status::kOk)
      return {ExitCode::kFailed, {}, {}, failure_text(i == 0 ? request.names.a : request.names.b, record)};
  }
  if (looked != ExitCode::kOk) return {looked, {}, {}, {}};

  const RoundPlan plan = plan_rounds(request, look.records());
  const std::string fewest = plan.rounds > kFewestRounds ? fmt::format("{} to ", kFewestRounds) : "";
  print_message(fmt::format("{}{}, each a process of {} for A and for B", fewest, counted(plan.rounds, "round"),
                            counted(plan.steps, "step")));
  const std::vector<SweepPoint> sides = both(request, kRoundWarmup, plan.steps);
  const std::vector<size_t> order = drawn_order(plan.rounds, request.a.config.seed);
  std::vector<SweepPoint> points;
  points.reserve(order.size());
  for (const size_t side : order) points.push_back(sides.at(side));
  RoundsOutput output(request, order);
  const ExitCode code = run_watched(points,
                                    {.store = request.store,
                                     .name = request.run_name,
                                     .trace = {.wanted = true, .traced_steps = plan.traced},
                                     .keeps_traces = false},
                                    output);
  Rounds found = std::move(output.found());
  found.code = code == ExitCode::kOk && !found.failure.empty() ? ExitCode::kFailed : code;
  return found;
}

}  // namespace laptime
