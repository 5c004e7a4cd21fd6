// Runs a prepared point: allocates memory, fills weights and takes samples.
#include "measure/measure.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "comm/agreement.h"
#include "exec/sampler.h"
#include "measure/fill_sources.h"
#include "measure/launch_costs.h"
#include "measure/make_trace.h"
#include "measure/reported_time.h"
#include "measure/spoiled_values.h"
#include "model/train_step.h"

namespace laptime {
namespace {

template <class T>
T number_in(const std::vector<std::byte>& bytes) {
  T value{};
  std::memcpy(&value, bytes.data(), sizeof(value));
  return value;
}

// True if every output of the last step is finite.
bool outputs_are_finite(const Executor& executor) {
  return std::all_of(executor.plan().outputs.begin(), executor.plan().outputs.end(), [&](const PlanOutput& output) {
    std::vector<std::byte> bytes = executor.read_output(output.name);
    if (bytes.empty()) return true;
    const TensorType& type = output.operand.type;
    const TensorView values{bytes.data(), contiguous_type(type.dtype, type.shape())};
    for (int64_t i = 0; i < values.numel(); ++i) {
      if (!std::isfinite(values.load(i))) return false;
    }
    return true;
  });
}

// Reads a field of /proc/self/status that is stated in kB, and returns bytes; none if there is no such field.
std::optional<int64_t> status_field(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    int64_t kibibytes = 0;
    if (word == name && status >> kibibytes) return kibibytes * 1024;
  }
  return std::nullopt;
}

// Resident memory of this process: now, and its maximum so far.
std::optional<int64_t> resident_bytes() { return status_field("VmRSS:"); }
std::optional<int64_t> peak_resident_bytes() { return status_field("VmHWM:"); }

// Tracks the loss scale of a run by reading the loss-scaling state after each step. Does nothing for a step without
// loss scaling, or on a device that computes nothing.
class LossScaleHistory {
 public:
  // `initial` is the scale of the first step.
  explicit LossScaleHistory(double initial) : scale_(initial) {}

  // Call after every step, in order.
  void add_step(const Executor& executor) {
    const std::vector<std::byte> scale_bytes = executor.read_source(source::kLossScale);
    const std::vector<std::byte> applied_bytes = executor.read_source(source::kAppliedSteps);
    if (scale_bytes.empty()) return;
    const double scale = number_in<float>(scale_bytes);
    ++steps_;
    if (steps_ == 1) use_ = {scale_, scale_, 0, 0, 0, {}};
    *use_.growths += scale > scale_ ? 1 : 0;
    *use_.backoffs += scale < scale_ ? 1 : 0;
    use_.last = scale_ = scale;
    if (applied_bytes.empty()) return;  // a pass without an optimizer
    const auto applied = number_in<int64_t>(applied_bytes);
    if (applied == applied_) use_.skipped.push_back(steps_);
    *use_.skipped_steps += applied == applied_ ? 1 : 0;
    applied_ = applied;
  }
  const LossScalingUse& result() const { return use_; }

 private:
  double scale_;
  int64_t steps_ = 0, applied_ = 0;
  LossScalingUse use_;
};

// Samples record launch times if that is expected to take less than this fraction of a step.
constexpr double kLaunchMarksBelow = 0.001;

// Sensors are not read after every step: a reading takes several milliseconds, in which a GPU would idle.
constexpr Seconds kSensorInterval{0.2};

class PointRun {
 public:
  PointRun(const Prepared& prepared, Backend& backend, const PointHooks& hooks, const TraceRequest& trace,
           Seconds expected_step)
      : config_(prepared.config),
        prepared_(prepared),
        backend_(backend),
        hooks_(hooks),
        trace_(trace),
        expected_step_(expected_step),
        costs_(prepared.plan) {}

  Measurement run() {
    LapTimer laps(backend_);
    const StartingWeights weights(config_);
    StepInputs inputs(config_, rank());
    run_.setup.data = laps.next();

    report({.stage = "memory"});
    run_.base_rss_bytes = resident_bytes();
    backend_.reset_peak_held_bytes();
    std::optional<Executor> held(std::in_place, prepared_.plan, backend_);
    Executor& executor = *held;
    run_.setup.memory = laps.next();

    report({.stage = "weights"});
    fill_weights(executor, config_, weights, threads_of_rank(config_), rank());
    run_.setup.weights = laps.next();

    take_samples(executor, inputs);
    take_memory(executor);
    // Reads the outputs before take_trace, which may free them.
    const bool has_loss = executor.plan().find_output(output::kLoss) != nullptr;
    if (!has_loss && !run_.sampling.interrupted) run_.finite = outputs_are_finite(executor);
    if (trace_.wanted && agreed(run_.finite && !run_.sampling.interrupted)) take_trace(executor, inputs);
    if (backend_.computes()) {
      run_.costs = costs_.result();
      run_.products = costs_.products();
      run_.peak_rss_bytes = peak_resident_bytes();
      if (has_slowed_down(run_.sampling)) run_.denormals = count_denormals(executor);
    }
    if (!run_.finite && hooks_.group == nullptr) {  // each rank might stop at a different step
      held.reset();                                 // frees memory, so that the steps can be repeated
      search_nan(weights);
    }
    return std::move(run_);
  }

 private:
  int64_t rank() const { return hooks_.group == nullptr ? 0 : hooks_.group->rank(); }
  // Returns the decision of rank 0, which all ranks follow.
  bool agreed(bool own) const { return hooks_.group == nullptr ? own : decide(*hooks_.group, own); }

  void report(const PointProgress& progress) const {
    if (hooks_.progress) hooks_.progress(progress);
  }

  // With a pool, each allocation adds to the requested memory, and the driver decides how much the pool reserves.
  // Without a pool, both amounts follow from the plan, whose blocks exist for the whole run.
  void take_memory(const Executor& executor) {
    run_.peak_bytes = run_.reserved_bytes = backend_.peak_held_bytes();
    const Plan& plan = executor.plan();
    if (const StepPool* const pool = executor.pool(); pool != nullptr) {
      for (const Buffer& buffer : plan.buffers)
        run_.requested_bytes += buffer.lifetime == Lifetime::kStep ? 0 : buffer.bytes;
      run_.requested_bytes += pool->peak_requested_bytes();
      run_.reserved_bytes = plan.resident_bytes + pool->peak_reserved_bytes();
    } else {
      for (const int64_t bytes : plan.peak_bytes_by_role) run_.requested_bytes += bytes;
    }
  }

  // Looks for the first NaN, unless repeating the steps would take too long.
  void search_nan(const StartingWeights& weights) {
    constexpr Seconds kLongest{300};
    // The losses end with the failing step, although the sample that contains it ran to its end.
    const int64_t steps = run_.losses.empty() ? std::ssize(run_.sampling.steps) : std::ssize(run_.losses);
    Seconds spent{};
    for (int64_t i = 0; i < steps; ++i) spent += run_.sampling.steps[static_cast<size_t>(i)].total();
    if (spent > kLongest) return;
    report({"search for the first NaN", steps, steps, 0});
    run_.first_nan = find_first_nan(prepared_, backend_, weights, steps, hooks_.interrupted);
  }

  void take_samples(Executor& executor, StepInputs& inputs) {
    const int64_t warmup = config_.warmup.value_or(0);
    const int64_t expected = config_.steps ? *config_.steps + warmup : 0;
    run_.rule = stopping_rule(config_);
    LossScaleHistory scales(loss_scaling(config_.loss_scale).initial);
    MachineCounters counters;
    run_.cores = counters.cores();
    run_.before = counters.read();
    const auto read_sensors = [&] {
      if (std::optional<Sensors> sensors = backend_.sensors())
        run_.sensors.push_back({std::move(*sensors), run_.states.size()});
    };
    Seconds sensors_read_at{};
    read_sensors();
    StepHooks hooks;
    // Unless the number of steps is fixed, the length of warm-up is not known yet; it is at least two steps.
    const int64_t named_warmup = has_fixed_steps(config_) ? warmup : 2;
    hooks.before = [&](int64_t step) {
      inputs.write(executor, step);
      backend_.begin_range(step < named_warmup ? "warmup" : "step");
    };
    hooks.after = [&](int64_t step, const Timeline& timeline) {
      backend_.end_range();
      run_.states.push_back(counters.read());
      if (step == 0) sensors_read_at = timeline.begin;
      if (timeline.end - sensors_read_at >= kSensorInterval) {
        read_sensors();
        sensors_read_at = timeline.end;
      }
      if (const std::vector<std::byte> loss = executor.read_output(output::kLoss); run_.finite && !loss.empty()) {
        run_.losses.push_back(number_in<float>(loss));
        run_.finite = std::isfinite(run_.losses.back());
      }
      scales.add_step(executor);
      report({step < warmup ? "warm-up" : "steps", step + 1, expected, timeline.total().count()});
    };
    hooks.launches = [&](int64_t step, const std::vector<Seconds>& times) {
      if (run_.classes.empty()) run_.first_classed = static_cast<size_t>(step);
      run_.classes.push_back(class_times(executor.plan(), times));
      // Leaves out warm-up, and in any case the first step, which is slower than the others.
      if (step >= std::max<int64_t>(warmup, 1)) costs_.add(times, backend_.communication_times().launches);
    };
    hooks.interrupted = [&] { return !run_.finite || (hooks_.interrupted && hooks_.interrupted()); };
    hooks.agree = [&](bool wants_step) { return agreed(wants_step); };
    // A trace is compared with the samples, which therefore must not have launch marks.
    const double marks_below = trace_.wanted ? 0 : kLaunchMarksBelow;
    const Seconds mark = marks_below > 0 ? executor.cost_of_mark() : Seconds{};
    run_.sampling = sample(executor,
                           {.rule = run_.rule,
                            .fixed = has_fixed_steps(config_),
                            .launch_marks_below = marks_below,
                            .reported = reported_time(executor.plan(), config_.pass),
                            .mark = mark,
                            .marks_first = marks_below > 0 && marks_first(mark)},
                           hooks);
    if (!run_.sensors.empty() && run_.sensors.back().steps < run_.states.size()) read_sensors();
    run_.loss_scaling = scales.result();
  }

  // The first step is marked if it belongs to warm-up, where slow marks do no harm, or if marks are expected to be
  // cheap.
  bool marks_first(Seconds mark) const {
    const bool is_warmup = !has_fixed_steps(config_) || config_.warmup.value_or(1) > 0;
    const Seconds marks = mark * static_cast<double>(prepared_.plan.steps.size());
    return is_warmup || marks < kLaunchMarksBelow * expected_step_;
  }

  // Alternates steps with and without launch times, so that changes on the machine affect both.
  void take_trace(Executor& executor, StepInputs& inputs) {
    StepTrace trace = trace_of(executor.plan());
    auto number = static_cast<int64_t>(run_.sampling.steps.size());
    for (int64_t i = 0; i < 2 * trace_.traced_steps; ++i, ++number) {
      if (!agreed(!(hooks_.interrupted && hooks_.interrupted()))) break;
      inputs.write(executor, number);
      Timeline timeline;
      if (i % 2 == 1) {
        timeline = take_traced_step(executor, trace);
      } else {
        timeline = executor.run();
        trace.untraced.push_back(timeline.total().count());
      }
      report({"trace", i + 1, 2 * trace_.traced_steps, timeline.total().count()});
    }
    if (backend_.has_own_clock()) take_graph_steps(executor, inputs, number, trace);
    run_.traced_steps = static_cast<int64_t>(trace.steps.size());
    run_.untaken_traced_steps = trace_.traced_steps - run_.traced_steps;
    run_.trace = std::move(trace);
  }

  // Takes launch times from the device's activity records or, if there are none, from marks, which take time
  // themselves. Runs with several ranks use marks, because activity records would also count concurrent communication.
  Timeline take_traced_step(Executor& executor, StepTrace& trace) {
    Timeline timeline;
    const auto run = [&] { timeline = executor.run(Marks::kLaunches); };
    Activities activities;
    if (backend_.has_own_clock() && hooks_.group == nullptr) {
      activities = backend_.watch(run);
      add_device_use(activities, trace.device);
    } else {
      run();
    }
    std::vector<Seconds> times = executor.launch_times();
    const std::vector<CommunicationTime> communication = backend_.communication_times().launches;
    if (activities.missing.empty() && activities.between_marks.size() + 1 == times.size()) {
      std::vector<Seconds>& launches = activities.between_marks;
      for (size_t i = 0; i < launches.size(); ++i) launches[i] += executor.plan().steps[i].pause;
      trace.steps.push_back(watched_step(launches, Seconds{trace.untraced.back()}));
      times.front() = {};
      std::partial_sum(launches.begin(), launches.end(), times.begin() + 1);
      // Scales the launch times so that they add up to the time of the step, in which the device may idle or run
      // launches concurrently.
      const double stretch = times.back().count() > 0 ? trace.untraced.back() / times.back().count() : 1;
      for (Seconds& time : times) time *= stretch;
    } else {
      trace.steps.push_back(traced_step(timeline, times));
      if (!trace.mark) trace.mark = executor.cost_of_mark().count();
    }
    for (const CommunicationTime& launch : communication) {
      for (const Seconds time : {launch.begin, launch.end})
        trace.steps.back().communication.push_back(std::llround((time - timeline.begin).count() * 1e9));
    }
    costs_.add(times, communication);
    return timeline;
  }

  static void add_device_use(const Activities& activities, DeviceUse& device) {
    device.records = activities.records;
    device.missing = activities.missing;
    device.kernels = activities.kernels;
    device.copies = activities.copies;
    if (device.missing.empty()) device.busy.push_back(activities.busy.count());
  }

  // Adds the times of steps that the device replays from a recording: the untraced steps if they were replayed,
  // otherwise as many further steps as were traced.
  void take_graph_steps(Executor& executor, StepInputs& inputs, int64_t number, StepTrace& trace) {
    if (executor.is_recorded()) {
      trace.device.usually_recorded = 1;
      trace.device.recorded = trace.untraced;
    } else if (hooks_.group == nullptr) {  // a single rank might lack the memory to record a step
      const auto write_inputs = [&] { inputs.write(executor, number++); };
      for (const Timeline& step : executor.run_recorded(std::ssize(trace.steps), write_inputs))
        trace.device.recorded.push_back(step.total().count());
    }
  }

  const RunConfig& config_;
  const Prepared& prepared_;
  Backend& backend_;
  const PointHooks& hooks_;
  const TraceRequest& trace_;
  Seconds expected_step_;
  LaunchCosts costs_;
  Measurement run_;
};

}  // namespace

Measurement measure(const Prepared& prepared, Backend& backend, const PointHooks& hooks, const TraceRequest& trace,
                    Seconds expected_step) {
  return PointRun(prepared, backend, hooks, trace, expected_step).run();
}

}  // namespace laptime
