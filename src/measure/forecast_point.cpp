// Plans a point, sums the times of its launches, and searches for sizes that fit.
#include "measure/forecast_point.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "measure/describe.h"
#include "measure/make_trace.h"
#include "predict/launch_times.h"
#include "prepare/prepare.h"
#include "prepare/time_forecast.h"

namespace laptime {
namespace {

TracedStep predicted_step(const std::vector<ForecastLaunch>& launches) {
  constexpr double kNanosecond = 1e-9;
  TracedStep step;
  int64_t total = 0;
  for (const ForecastLaunch& launch : launches) {
    step.launches.push_back(std::llround(launch.seconds / kNanosecond));
    total += step.launches.back();
  }
  step.total = static_cast<double>(total) * kNanosecond;
  return step;
}

void forecast(const ResolvedPoint& point, const KnowledgeOf& known, PointResult& result) {
  const Device& device = *point.device;
  describe_device(device, result.record);
  const MachineKnowledge knowledge = known(point.device_key);
  const Prepared prepared = prepare(point.config, device, knowledge);
  Record& record = result.record;
  record.memory = prepared.memory;
  record.math_mode = math_mode(prepared.plan, device);
  record.verdict.rating = kPredicted;
  result.trace = trace_of(prepared.plan);
  add_predicted_rates(device, *result.trace);
  if (const auto times = TimeForecast::of(device, knowledge)) {
    const std::vector<ForecastLaunch> launches = times->of(prepared.plan);
    record.prediction = predict(*times, prepared.plan, launches, point.config.pass);
    result.trace->steps.push_back(predicted_step(launches));
  }
  record.bytes_available = prepared.bound.bytes;
  if (prepared.shortage.empty()) return;
  record.status = Status::kOutOfMemory;
  record.reason = prepared.shortage;
  record.bytes_requested = predicted_peak_bytes(prepared.plan, prepared.bound);
}

}  // namespace

PointResult forecast_point(const ResolvedPoint& point, const KnowledgeOf& known) {
  PointResult result{describe_planned(point), {}, {}};
  Record& record = result.record;
  record.reason = point.refusal;
  record.status = record.reason.empty() ? Status::kOk : Status::kUnsupported;
  if (record.status != Status::kOk) return result;
  try {
    forecast(point, known, result);
  } catch (const Error& error) {
    record.status = Status::kFailed;
    record.reason = error.what();
  }
  return result;
}

Prepared plan_of(const ResolvedPoint& point, const KnowledgeOf& known) {
  return prepare(point.config, *point.device, known(point.device_key));
}

namespace {

// The batch size divided by the size that a search tries. With several ranks, a search for the batch size tries sizes
// of a micro-batch, so this is the number of micro-batches over all ranks; otherwise it is 1.
int64_t parts_of_batch(const RunConfig& config, Enlarged what) {
  return what == Enlarged::kBatch && config.ranks > 1 ? config.ranks * config.micro_batches : 1;
}

// The smallest size that a search tries: each micro-batch needs a sequence.
int64_t least_size(const RunConfig& config, Enlarged what) {
  return what == Enlarged::kBatch && config.ranks == 1 ? config.micro_batches : 1;
}

RunConfig enlarged(RunConfig config, Enlarged what, int64_t size) {
  if (what == Enlarged::kBatch) {
    config.model.batch_size = size * parts_of_batch(config, what);
  } else {
    config.model.context_length = size;
    config.crop_context.reset();
  }
  return config;
}

// The longest context that a search tries, in tokens. A position table or a sliding window may limit the model.
int64_t longest_context(const RunConfig& config) {
  return std::min(config.model.max_context.value_or(kLargestContext), kLargestContext);
}

}  // namespace

std::optional<StepForecast> predicted_step_time(const Prepared& prepared, const KnowledgeOf& known) {
  constexpr size_t kManyLaunches = 150;  // laptime calibrate times more launches than this
  constexpr double kSmallShare = 0.2;
  constexpr double kRoughly = 3;
  const auto times = TimeForecast::of(prepared.device, known(device_key(prepared.device)));
  if (!times) return std::nullopt;
  StepForecast step;
  double alike = 0;
  for (const ForecastLaunch& launch : times->of(prepared.plan)) {
    step.time += Seconds{launch.seconds};
    if (launch.source == CostSource::kAlike) alike += launch.seconds;
  }
  if (times->measured() < kManyLaunches && alike > kSmallShare * step.time.count())
    step.rough = {step.time / kRoughly, step.time * kRoughly};
  return step;
}

namespace {

// A size, and by how much its plan exceeds a limit: 0 or less if the plan fits.
struct Tried {
  int64_t size = 0;
  double excess = 0;

  bool fits() const { return excess <= 0; }
};

// Where the line through two attempts crosses zero. Memory is linear in batch size; memory and time are nearly linear
// in context.
double crossing(const Tried& a, const Tried& b) {
  const double slope = (b.excess - a.excess) / static_cast<double>(b.size - a.size);
  return static_cast<double>(a.size) - a.excess / std::max(slope, 1e-3);
}

// The largest size that fits, given that `low` fits and `high` does not. Planning is slow, so sizes are chosen by the
// Illinois algorithm: the next size is where the line through the two end points crosses zero; if the same end point is
// kept twice in a row, its excess is halved.
int64_t largest_between(Tried low, Tried high, const std::function<Tried(int64_t)>& attempt) {
  enum class End : uint8_t { kNone, kLow, kHigh } moved = End::kNone;
  Tried below = low;  // like `low`, but with an excess that may be halved
  Tried above = high;
  while (high.size - low.size > 1) {
    const double guess = std::floor(crossing(below, above));
    const double inside = std::clamp(guess, static_cast<double>(low.size + 1), static_cast<double>(high.size - 1));
    const Tried tried = attempt(std::llround(inside));
    if (tried.fits()) {
      low = below = tried;
      if (std::exchange(moved, End::kLow) == End::kLow) above.excess /= 2;
    } else {
      high = above = tried;
      if (std::exchange(moved, End::kHigh) == End::kHigh) below.excess /= 2;
    }
  }
  return low.size;
}

// The largest size from `least` to `limit` that fits; 0 if `least` does not. `next` is the first size above `least`
// that is tried.
int64_t largest_size(int64_t least, int64_t next, int64_t limit, const std::function<Tried(int64_t)>& attempt) {
  // Two close attempts say little about distant sizes, so a size exceeds the one before it by no more than this factor.
  constexpr int64_t kMostGrowth = 64;
  Tried low = attempt(least);
  if (!low.fits()) return 0;
  while (low.size < limit) {
    next = std::clamp(next, low.size + 1, limit);
    const Tried high = attempt(next);
    if (!high.fits()) return largest_between(low, high, attempt);
    const double beyond = crossing(low, high) + 1;
    low = high;
    const auto farthest = static_cast<double>(std::min(limit, kMostGrowth * low.size));
    next = std::max<int64_t>(2 * low.size, std::llround(std::floor(std::min(beyond, farthest))));
  }
  return limit;
}

}  // namespace

std::optional<LaunchBound> launch_bound(const ResolvedPoint& point, const KnowledgeOf& known) {
  if (point.device->computes) return std::nullopt;
  const LaunchTimes& times = *point.device->launch_times;
  const int64_t context = point.config.step_context();
  struct Launched {
    int64_t launches;
    double seconds;  // time that launching takes
    Tried tried;     // its excess is the time in nanoseconds by which the step is longer than its launches
  };
  const auto at = [&](int64_t size) {
    const Prepared prepared =
        prepare(enlarged(point.config, Enlarged::kContext, size), *point.device, known(point.device_key));
    double hosts = 0;
    for (const PlanStep& step : prepared.plan.steps) hosts += times.host(step.phase);
    const Seconds step = predicted_step_time(prepared, known).value_or(StepForecast{}).time;
    return Launched{static_cast<int64_t>(prepared.plan.steps.size()),
                    hosts,
                    {size, 1e9 * (step.count() - times.together(hosts, hosts))}};
  };
  const Launched own = at(context);
  const int64_t longest = longest_context(point.config);
  const int64_t last =
      largest_size(1, context, longest, [&](int64_t size) { return size == context ? own.tried : at(size).tried; });
  LaunchBound bound{own.launches, Seconds{own.seconds / static_cast<double>(std::max<int64_t>(1, own.launches))}, {}};
  if (last < longest) bound.least_context = last + 1;
  return bound;
}

int64_t largest_that_fits(const ResolvedPoint& point, const KnowledgeOf& known, Enlarged what, int64_t limit,
                          const std::function<void()>& before_plan, const MemoryExcess& excess) {
  const RunConfig& config = point.config;
  const MachineKnowledge knowledge = known(point.device_key);
  const int64_t parts = parts_of_batch(config, what);
  if (what == Enlarged::kContext) limit = std::min(limit, longest_context(config));
  const int64_t least = least_size(config, what);
  limit = std::max(least, limit / parts);
  const auto attempt = [&](int64_t size) {
    if (before_plan) before_plan();
    const RunConfig tried = enlarged(config, what, size);
    if (const auto known_excess = excess ? excess(tried) : std::nullopt) return Tried{size, *known_excess};
    const Prepared prepared = prepare(tried, *point.device, knowledge);
    const int64_t bytes = predicted_peak_bytes(prepared.plan, prepared.bound);
    return Tried{size, static_cast<double>(bytes - prepared.bound.bytes.value_or(bytes))};
  };
  if (!memory_bound(config, *point.device).bytes) return limit * parts;
  const int64_t next = what == Enlarged::kBatch ? config.model.batch_size / parts : config.step_context();
  return largest_size(least, next, limit, attempt) * parts;
}

std::string sizes_that_fit(const ResolvedPoint& point, const KnowledgeOf& known) {
  const RunConfig& config = point.config;
  try {
    if (plan_of(point, known).shortage.empty()) return {};  // memory ran out although the plan fits
    const int64_t batch =
        largest_that_fits(point, known, Enlarged::kBatch, std::max<int64_t>(config.model.batch_size - 1, 1));
    const int64_t context =
        largest_that_fits(point, known, Enlarged::kContext, std::max<int64_t>(config.step_context() - 1, 1));
    // A cropped step needs the memory of a model with that context, but the crop may not exceed the model's context.
    const char* const option = config.crop_context ? "--crop-context" : "--context";
    if (batch > 0 && context > 0) return fmt::format("it fits with --batch {} or with {} {}", batch, option, context);
    if (batch > 0) return fmt::format("it fits with --batch {}", batch);
    if (context > 0) return fmt::format("it fits with {} {}", option, context);
    SweepPoint one_thread = point;
    one_thread.config.threads = 1;
    if (config.threads != 1 && plan_of(one_thread, known).shortage.empty()) return "it fits with --threads 1";
    return "no smaller batch or context makes it fit";
  } catch (const Error&) {
    return {};
  }
}

}  // namespace laptime
