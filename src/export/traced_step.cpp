// Opens and closes slices when the path of ranges changes from one launch to the next; sorts the uses of buffers.
#include "export/traced_step.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "record/step_trace.h"

namespace laptime {
namespace {

struct PathPart {
  Slice::Kind kind;
  std::string_view name;
};

std::string_view take_until(std::string_view& text, size_t end) {
  const std::string_view taken = text.substr(0, end);
  text = end < text.size() ? text.substr(end + 1) : std::string_view();
  return taken;
}

std::vector<PathPart> path_of(const TraceLaunch& launch) {
  std::vector<PathPart> path{{Slice::Kind::kPhase, launch.phase}};
  for (const std::string_view module : modules_of(launch.scope)) path.push_back({Slice::Kind::kModule, module});
  for (std::string_view range = launch.range; !range.empty();)
    path.push_back({Slice::Kind::kRange, take_until(range, std::min(range.find('/'), range.size()))});
  return path;
}

// Returns 0 for an invalid time, because a stored file may contain anything.
int64_t nanoseconds(double seconds) {
  return seconds > 0 && seconds < 1e9 ? static_cast<int64_t>(std::llround(seconds * 1e9)) : 0;
}

class SliceBuilder {
 public:
  explicit SliceBuilder(std::vector<Slice>& slices) : slices_(slices) {}

  void open(Slice::Kind kind, std::string_view name, int64_t time, size_t launch) {
    open_.push_back(slices_.size());
    slices_.push_back({.kind = kind, .name = name, .begin = time, .end = time, .launch = launch});
  }
  // Closes all slices except the outermost `depth`.
  void close_to(size_t depth, int64_t time) {
    for (; open_.size() > depth; open_.pop_back()) {
      Slice& slice = slices_[open_.back()];
      slice.end = time;
      slice.inside = slices_.size() - open_.back() - 1;
    }
  }
  // How many slices, from the outermost inward, are already open; the step itself is not part of the path.
  size_t common_depth(const std::vector<PathPart>& path) const {
    size_t depth = 1;
    while (depth < open_.size() && depth <= path.size() && slices_[open_[depth]].kind == path[depth - 1].kind &&
           slices_[open_[depth]].name == path[depth - 1].name) {
      ++depth;
    }
    return depth;
  }

 private:
  std::vector<Slice>& slices_;
  std::vector<size_t> open_;
};

StepSpan add_step(const StepTrace& trace, const TracedStep& step, int64_t begin, std::vector<Slice>& slices) {
  SliceBuilder builder(slices);
  StepSpan span{.step = &step, .begin = begin, .first_launch = begin + nanoseconds(step.begin)};
  int64_t time = span.first_launch;
  builder.open(Slice::Kind::kStep, "step", begin, 0);
  for (size_t i = 0; i < trace.launch_count(); ++i) {
    const TraceLaunch launch = trace.launch(i);
    const std::vector<PathPart> path = path_of(launch);
    const size_t depth = builder.common_depth(path);
    builder.close_to(depth, time);
    for (size_t k = depth - 1; k < path.size(); ++k) builder.open(path[k].kind, path[k].name, time, i);
    builder.open(Slice::Kind::kLaunch, launch.op, time, i);
    time += step.launches[i];
    builder.close_to(path.size() + 1, time);
  }
  builder.close_to(1, time);
  span.end = std::max(time, begin + nanoseconds(step.total));
  builder.close_to(0, span.end);
  return span;
}

}  // namespace

const TracedStep& median_step(const StepTrace& trace) {
  std::vector<size_t> order(trace.steps.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t step) { return trace.steps[step].total; });
  return trace.steps[order[(order.size() - 1) / 2]];
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
    if (std::ranges::find(roles, role) == roles.end()) roles.push_back(role);
  }
  return roles;
}

}  // namespace laptime
