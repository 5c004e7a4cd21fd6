// Copies the plan and launch times into the columns of a trace.
#include "measure/make_trace.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <utility>

#include "base/words.h"
#include "passes/saved.h"

namespace laptime {
namespace {

// The strings of a trace, each stored once.
class Texts {
 public:
  explicit Texts(std::vector<std::string>& texts) : texts_(texts) {}

  int64_t operator()(std::string_view text) {
    const auto [known, is_new] = indices_.emplace(std::string(text), static_cast<int64_t>(texts_.size()));
    if (is_new) texts_.emplace_back(text);
    return known->second;
  }

 private:
  std::vector<std::string>& texts_;
  std::map<std::string, int64_t> indices_;
};

void add_launch(const PlanStep& step, Texts& texts, TraceLaunches& launches) {
  launches.phase.push_back(texts(name_of(step.phase)));
  launches.scope.push_back(texts(step.scope));
  launches.layer.push_back(step.region.layer);
  launches.part.push_back(texts(step.region.part));
  launches.range.push_back(texts(step.region.range));
  launches.op.push_back(texts(step.kernel->op->name));
  launches.work_class.push_back(texts(name_of(step.work_class)));
  launches.kernel.push_back(texts(step.kernel->name));
  launches.signature.push_back(texts(step.signature().text()));
  launches.flops.push_back(step.flops);
  launches.bytes.push_back(step.bytes);
  launches.recomputed.push_back(step.recomputed ? 1 : 0);
}

// First and last launch during which each buffer of the step is live; {-1, -1} for a buffer that is never allocated.
// For a buffer that is live at the end, the last launch is the number of launches.
std::vector<std::pair<int64_t, int64_t>> live_launches(const Plan& plan) {
  std::vector<std::pair<int64_t, int64_t>> live(plan.buffers.size(), {-1, -1});
  const auto count = static_cast<int64_t>(plan.steps.size());
  int64_t launched = 0;
  for (const Action& action : plan.actions) {
    const auto index = static_cast<size_t>(action.index);
    switch (action.kind) {
      case Action::Kind::kAlloc: live[index] = {launched, count}; break;
      case Action::Kind::kStep: ++launched; break;
      case Action::Kind::kFree: live[index].second = launched == count ? count : launched - 1; break;
    }
  }
  for (const PlanOutput& output : plan.outputs) {
    if (auto& range = live[static_cast<size_t>(output.operand.buffer)]; range.first >= 0) range.second = count;
  }
  return live;
}

// Flags the buffers that set-up or forward writes and backward reads, in every micro-batch. Parameters are not flagged,
// even if gathered from other ranks. In a plan without backward, flags the buffers that backward would read. Matches
// saved_storages, which works on the graph.
std::vector<bool> saved_buffers(const Plan& plan) {
  std::vector<bool> is_read(plan.buffers.size(), false);
  const auto read = [&](const Operand& operand) {
    if (operand.buffer >= 0) is_read[static_cast<size_t>(operand.buffer)] = true;
  };
  for (const PlanStep& step : plan.steps) {
    if (step.phase != Phase::kBackward) continue;
    for (const Operand& operand : step.in) read(operand);
  }
  for (const PlanOutput& output : plan.outputs) {
    if (output.name.starts_with(kSavedOutput)) read(output.operand);
  }
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    const Buffer& buffer = plan.buffers[i];
    const bool is_kept_anyway = buffer.lifetime == Lifetime::kPersistent || buffer.role == Role::kParameter ||
                                buffer.role == Role::kGradient || buffer.role == Role::kWorkspace;
    const bool is_of_forward = buffer.phase == Phase::kSetup || buffer.phase == Phase::kForward;
    is_read[i] = is_read[i] && is_of_forward && !is_kept_anyway;
  }
  return is_read;
}

void add_buffer(const Buffer& buffer, std::pair<int64_t, int64_t> live, bool saved, Texts& texts,
                TraceBuffers& buffers) {
  const bool is_workspace = buffer.role == Role::kWorkspace;
  const Shape shape = is_workspace ? Shape() : buffer.type.shape();
  buffers.name.push_back(texts(buffer.name));
  buffers.op.push_back(texts(buffer.op));
  buffers.scope.push_back(texts(buffer.scope));
  buffers.phase.push_back(texts(name_of(buffer.phase)));
  buffers.role.push_back(texts(name_of(buffer.role)));
  buffers.dtype.push_back(texts(is_workspace ? "" : name_of(buffer.type.dtype)));
  buffers.shape.push_back(texts(is_workspace ? "" : fmt::format("[{}]", joined(shape, ", "))));
  buffers.bytes.push_back(buffer.bytes);
  buffers.offset.push_back(buffer.offset);
  buffers.resident.push_back(buffer.lifetime == Lifetime::kStep ? 0 : 1);
  buffers.saved.push_back(saved ? 1 : 0);
  buffers.first.push_back(live.first);
  buffers.last.push_back(live.second);
}

double seconds_of(const std::vector<int64_t>& launches) {
  return 1e-9 * static_cast<double>(std::accumulate(launches.begin(), launches.end(), int64_t{0}));
}

}  // namespace

StepTrace trace_of(const Plan& plan) {
  StepTrace trace;
  Texts texts(trace.texts);
  for (const PlanStep& step : plan.steps) add_launch(step, texts, trace.launches);
  const std::vector<std::pair<int64_t, int64_t>> live = live_launches(plan);
  const std::vector<bool> saved = saved_buffers(plan);
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    const Buffer& buffer = plan.buffers[i];
    if (buffer.lifetime != Lifetime::kStep) {
      add_buffer(buffer, {0, static_cast<int64_t>(plan.steps.size())}, saved[i], texts, trace.buffers);
    } else if (live[i].first >= 0) {
      add_buffer(buffer, live[i], saved[i], texts, trace.buffers);
    }
  }
  trace.resident_bytes = plan.resident_bytes;
  trace.arena_bytes = plan.arena_bytes;
  trace.live_peak_bytes = plan.live_peak_bytes;
  trace.peak_launch = plan.peak_step;
  return trace;
}

void add_predicted_rates(const Device& device, StepTrace& trace) {
  if (!device.rates) return;
  trace.peak_flops = device.rates->product_flops;
  trace.bandwidth = device.rates->bandwidth;
}

TracedStep watched_step(const std::vector<Seconds>& launches, Seconds total) {
  TracedStep step;
  for (const Seconds launch : launches) step.launches.push_back(std::llround(launch.count() * 1e9));
  step.total = std::max(total.count(), seconds_of(step.launches));
  return step;
}

TracedStep traced_step(const Timeline& timeline, const std::vector<Seconds>& times) {
  TracedStep step;
  step.begin = (times.front() - timeline.begin).count();
  step.total = timeline.total().count();
  for (size_t i = 1; i < times.size(); ++i)
    step.launches.push_back(std::llround((times[i] - times[i - 1]).count() * 1e9));
  // On a virtual clock, the rounded times of launches may sum to more than their step.
  step.total = std::max(step.total, step.begin + seconds_of(step.launches));
  return step;
}

ClassTimes class_times(const Plan& plan, const std::vector<Seconds>& times) {
  ClassTimes sums{};
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const PlanStep& step = plan.steps[i];
    sums.at(static_cast<size_t>(step.phase)).at(static_cast<size_t>(step.work_class)) +=
        (times[i + 1] - times[i]).count();
  }
  return sums;
}

}  // namespace laptime
