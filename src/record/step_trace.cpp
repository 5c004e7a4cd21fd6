// Reads launches and buffers from the columns of a trace, and checks them.
#include "record/step_trace.h"

#include <utility>

#include "base/error.h"
#include "distribution/median.h"

namespace laptime {
namespace {

std::string_view text_at(const StepTrace& trace, const std::vector<int64_t>& column, size_t index) {
  return trace.texts[static_cast<size_t>(column[index])];
}

// Checks that each column has `count` entries, and each index is in [least, limit).
class ColumnCheck {
 public:
  ColumnCheck(const char* what, size_t count) : what_(what), count_(count) {}

  template <class T>
  void length(const std::vector<T>& column, const char* name) const {
    if (column.size() != count_)
      throw Error::format("trace: {}.{} has {} entries, not {}", what_, name, column.size(), count_);
  }
  void range(const std::vector<int64_t>& column, const char* name, int64_t least, int64_t limit) const {
    length(column, name);
    for (const int64_t value : column) {
      if (value < least || value >= limit)
        throw Error::format("trace: {}.{} has the entry {}, which is not in [{}, {})", what_, name, value, least,
                            limit);
    }
  }

 private:
  const char* what_;
  size_t count_;
};

constexpr int64_t kNoLimit = int64_t{1} << 62U;

}  // namespace

StepTrace::StepTrace() = default;
StepTrace::StepTrace(const StepTrace&) = default;
StepTrace::StepTrace(StepTrace&&) noexcept = default;
StepTrace& StepTrace::operator=(const StepTrace&) = default;
StepTrace& StepTrace::operator=(StepTrace&&) noexcept = default;
StepTrace::~StepTrace() = default;

TraceLaunch StepTrace::launch(size_t index) const {
  return {.phase = text_at(*this, launches.phase, index),
          .scope = text_at(*this, launches.scope, index),
          .layer = launches.layer[index],
          .part = text_at(*this, launches.part, index),
          .range = text_at(*this, launches.range, index),
          .op = text_at(*this, launches.op, index),
          .work_class = text_at(*this, launches.work_class, index),
          .kernel = text_at(*this, launches.kernel, index),
          .signature = text_at(*this, launches.signature, index),
          .flops = launches.flops[index],
          .bytes = launches.bytes[index],
          .recomputed = launches.recomputed[index] != 0};
}

TraceBuffer StepTrace::buffer(size_t index) const {
  return {.name = text_at(*this, buffers.name, index),
          .op = text_at(*this, buffers.op, index),
          .scope = text_at(*this, buffers.scope, index),
          .phase = text_at(*this, buffers.phase, index),
          .role = text_at(*this, buffers.role, index),
          .dtype = text_at(*this, buffers.dtype, index),
          .shape = text_at(*this, buffers.shape, index),
          .bytes = buffers.bytes[index],
          .offset = buffers.offset[index],
          .resident = buffers.resident[index] != 0,
          .saved = buffers.saved[index] != 0,
          .first = buffers.first[index],
          .last = buffers.last[index]};
}

double StepTrace::mean_seconds(size_t launch) const {
  if (steps.empty()) return 0;
  int64_t sum = 0;
  for (const TracedStep& step : steps) sum += step.launches[launch];
  return static_cast<double>(sum) / static_cast<double>(steps.size()) * 1e-9;
}

bool is_measured(const StepTrace& trace) { return !trace.untraced.empty() && trace.mark != 0.0; }

std::optional<double> traced_over_untraced(const StepTrace& trace) {
  if (trace.untraced.empty() || trace.steps.empty()) return std::nullopt;
  const double untraced = median(trace.untraced);
  double traced = 0;
  for (const TracedStep& step : trace.steps) traced += step.total / static_cast<double>(trace.steps.size());
  return untraced > 0 ? std::optional(traced / untraced) : std::nullopt;
}

bool is_disturbed(const StepTrace& trace) {
  const std::optional<double> ratio = traced_over_untraced(trace);
  if (!ratio) return false;
  const double marks = trace.mark.value_or(0) * static_cast<double>(trace.launch_count()) / median(trace.untraced);
  return *ratio > 1 + kDisturbed + marks || *ratio < 1 - kDisturbed;
}

void check(const StepTrace& trace) {
  const auto texts = static_cast<int64_t>(trace.texts.size());
  const auto launches = static_cast<int64_t>(trace.launch_count());
  const ColumnCheck launch("launches", trace.launch_count());
  const TraceLaunches& l = trace.launches;
  launch.range(l.phase, "phase", 0, texts);
  launch.range(l.scope, "scope", 0, texts);
  launch.range(l.layer, "layer", -1, kNoLimit);
  launch.range(l.part, "part", 0, texts);
  launch.range(l.range, "range", 0, texts);
  launch.range(l.op, "op", 0, texts);
  launch.range(l.work_class, "work_class", 0, texts);
  launch.range(l.kernel, "kernel", 0, texts);
  launch.range(l.signature, "signature", 0, texts);
  launch.length(l.flops, "flops");
  launch.range(l.bytes, "bytes", 0, kNoLimit);
  launch.range(l.recomputed, "recomputed", 0, 2);
  const ColumnCheck buffer("buffers", trace.buffer_count());
  const TraceBuffers& b = trace.buffers;
  for (const auto& [column, name] : {std::pair{&b.name, "name"},
                                     {&b.op, "op"},
                                     {&b.scope, "scope"},
                                     {&b.phase, "phase"},
                                     {&b.role, "role"},
                                     {&b.dtype, "dtype"},
                                     {&b.shape, "shape"}}) {
    buffer.range(*column, name, 0, texts);
  }
  buffer.range(b.bytes, "bytes", 0, kNoLimit);
  buffer.range(b.offset, "offset", 0, kNoLimit);
  buffer.range(b.resident, "resident", 0, 2);
  buffer.range(b.saved, "saved", 0, 2);
  buffer.range(b.first, "first", 0, launches + 1);
  buffer.range(b.last, "last", 0, launches + 1);
  for (const TracedStep& step : trace.steps)
    ColumnCheck("steps", trace.launch_count()).range(step.launches, "launches", 0, kNoLimit);
}

}  // namespace laptime
