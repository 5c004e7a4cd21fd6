// The straight line of one point: graph, plan, memory, weights, samples, record.
#include "measure/run_one.h"

#include <chrono>
#include <cmath>
#include <cstring>
#include <new>

#include "measure/describe.h"
#include "measure/fill_sources.h"
#include "measure/kernel_trial.h"
#include "measure/make_record.h"
#include "measure/peaks.h"
#include "model/train_step.h"
#include "prepare/device.h"
#include "prepare/fit_recompute.h"
#include "prepare/kernel_choice.h"
#include "prepare/memory_check.h"
#include "prepare/process_memory.h"
#include "prepare/step_graph.h"
#include "record/config_json.h"

namespace laptime {
namespace {

class Point {
 public:
  Point(const SweepPoint& point, const MachineKnowledge& known, const PointHooks& hooks)
      : config_(point.config), known_(known), hooks_(hooks) {
    result_.record = describe_point(point);
  }

  PointResult run() {
    try {
      measure();
    } catch (const OutOfMemory& error) {
      refuse(error);
    } catch (const std::bad_alloc&) {
      fail(Status::kOutOfMemory, "an allocation of the program itself was refused");
    } catch (const Error& error) {
      fail(Status::kFailed, error.what());
    }
    return std::move(result_);
  }

 private:
  Record& record() { return result_.record; }

  void fail(Status status, const std::string& reason) {
    record().status = status;
    record().reason = reason;
  }

  void refuse(const OutOfMemory& error) {
    fail(Status::kOutOfMemory, error.what());
    record().bytes_requested = error.bytes_requested();
    record().bytes_available = error.bytes_available();
  }

  void stage(const std::string& name, int64_t done = 0, double step_seconds = 0) const {
    if (!hooks_.progress) return;
    const int64_t expected = config_.steps ? *config_.steps + config_.warmup.value_or(0) : 0;
    hooks_.progress({name, done, expected, step_seconds});
  }

  // Seconds since the last call, on the device's clock.
  double lap() {
    const Seconds now = device_.backend->now();
    const double seconds = (now - lap_).count();
    lap_ = now;
    return seconds;
  }

  void measure() {
    if (const std::string reason = unsupported_reason(config_); !reason.empty())
      return fail(Status::kUnsupported, reason);
    device_ = make_device(config_);
    describe_device(device_, record());
    const Seconds start = lap_ = device_.backend->now();

    stage("plan");
    KernelChoices choices = choices_of(config_, *device_.backend, known_.kernel_choices);
    const MemoryBound bound = memory_bound(config_, device_);
    const FittedRecompute fitted = fit_recompute(config_, bound, chooser(*device_.backend, choices));
    const Graph graph = lowered_graph(config_, fitted.rule);
    record().memory.recompute = fitted.text;
    check_memory(make_plan(graph, chooser(*device_.backend, choices)), bound, fitted.advice, record());
    record().setup.plan = lap();
    if (hooks_.planned) hooks_.planned(record());

    stage("kernel trial");
    if (device_.backend->computes()) learn(try_kernels(graph, *device_.backend, choices));
    record().setup.kernel_trial = lap();

    const StartingWeights weights(config_);
    StepInputs inputs(config_);
    record().setup.data = lap();

    stage("memory");
    record().memory.base_rss_bytes = resident_bytes();
    Executor executor(make_plan(graph, chooser(*device_.backend, choices)), *device_.backend);
    record().setup.memory = lap();

    stage("weights");
    fill_weights(executor, config_, weights, std::max(device_.threads, 1));
    record().setup.weights = lap();
    record().setup.total = (lap_ - start).count();

    take_samples(executor, inputs);
  }

  void learn(std::vector<KernelChoice> choices) {
    for (KernelChoice& choice : choices) {
      choice.fingerprint = record().fingerprint;
      choice.created = record().created;
    }
    result_.learned.kernel_choices = std::move(choices);
  }

  static double scalar(const std::vector<std::byte>& bytes) {
    float value = 0;
    std::memcpy(&value, bytes.data(), sizeof(value));
    return value;
  }

  // Of the last step. Without a loss in which a NaN would show, every output is looked at.
  static bool outputs_are_finite(const Executor& executor) {
    for (const PlanOutput& output : executor.plan().outputs) {
      const std::vector<std::byte> bytes = executor.read_output(output.name);
      TensorType type = output.operand.type;
      type.layout = Layout::contiguous(type.shape());
      const TensorView view{const_cast<std::byte*>(bytes.data()), type};
      for (int64_t i = 0; i < (bytes.empty() ? 0 : view.numel()); ++i) {
        if (!std::isfinite(view.load(i))) return false;
      }
    }
    return true;
  }

  void take_samples(Executor& executor, StepInputs& inputs) {
    MachineCounters counters;
    Observed observed;
    observed.before = counters.read();
    bool finite = true;
    StepHooks hooks;
    hooks.before = [&](int64_t step) { inputs.bring(executor, step); };
    hooks.after = [&](int64_t step, const Timeline& timeline) {
      observed.states.push_back(counters.read());
      if (const std::vector<std::byte> loss = executor.read_output(output::kLoss); !loss.empty()) {
        record().loss.values.push_back(scalar(loss));
        finite = finite && std::isfinite(record().loss.values.back());
      }
      stage(step < config_.warmup.value_or(0) ? "warm-up" : "steps", step + 1, timeline.total().count());
    };
    hooks.interrupted = [&] { return !finite || (hooks_.interrupted && hooks_.interrupted()); };
    const Sampling sampling = sample(executor, request(), hooks);
    if (!finite) return report_not_finite(executor);
    fill_memory(executor.plan(), *device_.backend, record());
    if (sampling.interrupted) {
      return fail(Status::kInterrupted, fmt::format("stopped by a signal after {} steps", sampling.steps.size()));
    }
    const bool has_loss = executor.plan().find_output(output::kLoss) != nullptr;
    if (!has_loss && !outputs_are_finite(executor)) return report_not_finite(executor);
    learn_peaks(device_, record(), known_, result_.learned);
    fill_record(config_, device_, executor.plan(), sampling, request().rule, observed, known_, result_.learned,
                record());
  }

  SamplingRequest request() const {
    if (!config_.steps) return {StoppingRule(), false};
    return {StoppingRule::fixed(config_.warmup.value_or(0), *config_.steps), true};
  }

  // A run whose loss is not finite has no timing; where the first NaN was made is worth more.
  void report_not_finite(Executor& executor) {
    const size_t step = record().loss.values.size();
    const std::string what = step > 0 ? fmt::format("the loss of step {}", step) : "what the step computes";
    fail(Status::kFailed, fmt::format("{} is not finite: no timing is reported", what));
    if (const auto site = executor.find_nan()) {
      record().op = site->op;
      record().scope = site->scope;
      record().reason +=
          fmt::format("; the first NaN is made by {} in {}", site->op, site->scope.empty() ? "the step" : site->scope);
    }
  }

  const RunConfig config_;
  const MachineKnowledge& known_;
  const PointHooks& hooks_;
  Device device_;
  Seconds lap_{};
  PointResult result_;
};

}  // namespace

PointResult run_one(const SweepPoint& point, const MachineKnowledge& known, const PointHooks& hooks) {
  if (!point.invalid.empty()) {
    PointResult result{describe_point(point), {}};
    result.record.status = Status::kUnsupported;
    result.record.reason = point.invalid;
    return result;
  }
  return Point(point, known, hooks).run();
}

}  // namespace laptime
