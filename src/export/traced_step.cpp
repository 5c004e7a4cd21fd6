// Opens and closes slices when the path of ranges changes from one launch to the next; sorts the uses of buffers.
#include "export/traced_step.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/proc_text.h"
#include "record/step_trace.h"

namespace laptime {
namespace {

using PathPart = std::pair<Slice::Kind, std::string_view>;

std::vector<PathPart> path_of(const TraceLaunch& launch) {
  std::vector<PathPart> path{{Slice::Kind::kPhase, launch.phase}};
  for (const std::string_view module : modules_of(launch.scope)) path.emplace_back(Slice::Kind::kModule, module);
  for (const std::string_view range : split(launch.range, '/')) path.emplace_back(Slice::Kind::kRange, range);
  return path;
}

// Returns 0 for an invalid time, because a stored file may contain anything.
int64_t nanoseconds(double seconds) {
  return seconds > 0 && seconds < 1e9 ? static_cast<int64_t>(std::llround(seconds * 1e9)) : 0;
}

StepSpan add_step(const StepTrace& trace, const TracedStep& step, int64_t begin, std::vector<Slice>& slices) {
  StepSpan span{.step = &step, .begin = begin, .first_launch = begin + nanoseconds(step.begin)};
  int64_t time = begin;
  std::vector<size_t> open;  // slices that have not ended, outermost first
  const auto open_slice = [&](Slice::Kind kind, std::string_view name, size_t launch) {
    open.push_back(slices.size());
    slices.push_back({.kind = kind, .name = name, .begin = time, .end = time, .launch = launch});
  };
  const auto close_to = [&](size_t depth) {
    for (; open.size() > depth; open.pop_back()) {
      Slice& slice = slices[open.back()];
      slice.end = time;
      slice.inside = slices.size() - open.back() - 1;
    }
  };
  open_slice(Slice::Kind::kStep, "step", 0);
  time = span.first_launch;
  for (size_t i = 0; i < trace.launch_count(); ++i) {
    const TraceLaunch launch = trace.launch(i);
    const std::vector<PathPart> path = path_of(launch);
    size_t depth = 1;  // number of open slices that also contain this launch; at least the step's slice
    while (depth < open.size() && depth <= path.size() &&
           PathPart(slices[open[depth]].kind, slices[open[depth]].name) == path[depth - 1])
      ++depth;
    close_to(depth);
    for (size_t k = depth - 1; k < path.size(); ++k) open_slice(path[k].first, path[k].second, i);
    open_slice(Slice::Kind::kLaunch, launch.op, i);
    time += step.launches[i];
    close_to(path.size() + 1);
  }
  close_to(1);
  span.end = time = std::max(time, begin + nanoseconds(step.total));
  close_to(0);
  return span;
}

}  // namespace

const TracedStep& median_step(const StepTrace& trace) {
  std::vector<const TracedStep*> order;
  for (const TracedStep& step : trace.steps) order.push_back(&step);
  std::ranges::stable_sort(order, {}, &TracedStep::total);
  return *order[(order.size() - 1) / 2];
}

StepSlices slices_of(const TracedRecord& traced, ExportedSteps steps) {
  const StepTrace& trace = *traced.trace;
  StepSlices timeline;
  int64_t time = 0;
  for (const double seconds : traced.record.transient.warmup) {
    const int64_t end = time + nanoseconds(seconds);
    timeline.slices.push_back({.kind = Slice::Kind::kWarmup, .name = "warmup", .begin = time, .end = end});
    time = end;
  }
  const TracedStep* const median = &median_step(trace);
  for (const TracedStep& step : trace.steps) {
    if (steps == ExportedSteps::kOne && &step != median) continue;
    timeline.steps.push_back(add_step(trace, step, time, timeline.slices));
    time = timeline.steps.back().end;
  }
  return timeline;
}

std::vector<MemoryChange> memory_changes(const StepTrace& trace) {
  std::vector<MemoryChange> changes;
  const auto launches = static_cast<int64_t>(trace.launch_count());
  for (size_t i = 0; i < trace.buffer_count(); ++i) {
    const TraceBuffer buffer = trace.buffer(i);
    if (buffer.resident || buffer.bytes == 0 || buffer.last < buffer.first) continue;
    changes.push_back({.launch = static_cast<size_t>(buffer.first), .buffer = i, .is_alloc = true});
    if (buffer.last < launches)
      changes.push_back({.launch = static_cast<size_t>(buffer.last) + 1, .buffer = i, .is_alloc = false});
  }
  std::ranges::stable_sort(changes, {}, [](const MemoryChange& one) { return std::pair(one.launch, one.is_alloc); });
  return changes;
}

std::vector<size_t> outliving_buffers(const StepTrace& trace) {
  std::vector<size_t> outliving;
  const auto launches = static_cast<int64_t>(trace.launch_count());
  for (const MemoryChange& change : memory_changes(trace)) {
    if (change.is_alloc && trace.buffers.last[change.buffer] >= launches) outliving.push_back(change.buffer);
  }
  return outliving;
}

std::vector<size_t> resident_buffers(const StepTrace& trace) {
  std::vector<size_t> resident;
  for (size_t i = 0; i < trace.buffer_count(); ++i) {
    if (trace.buffers.resident[i] != 0 && trace.buffers.bytes[i] > 0) resident.push_back(i);
  }
  return resident;
}

std::vector<std::string_view> roles_of(const StepTrace& trace) {
  std::vector<std::string_view> roles;
  for (size_t i = 0; i < trace.buffer_count(); ++i) {
    const std::string_view role = trace.buffer(i).role;
    if (!is_among(role, roles)) roles.push_back(role);
  }
  return roles;
}

}  // namespace laptime
