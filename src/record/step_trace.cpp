// Reads and checks the launches and buffers in a trace's columns, and parses scope names.
#include "record/step_trace.h"

#include <algorithm>
#include <iterator>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "base/proc_text.h"
#include "base/words.h"
#include "distribution/median.h"

namespace laptime {
namespace {

std::string_view text_at(const StepTrace& trace, const std::vector<int64_t>& column, size_t index) {
  return trace.texts[static_cast<size_t>(column[index])];
}

constexpr int64_t kNoLimit = int64_t{1} << 62U;

// The limit of each of `count` numbers, such that their sum does not overflow.
int64_t limit_of_each(size_t count) { return kNoLimit / std::max<int64_t>(1, static_cast<int64_t>(count)); }

// The half-open range of values that a column may contain; most columns are indices into texts.
std::pair<int64_t, int64_t> range_of(std::string_view column, size_t count, const StepTrace& trace) {
  if (column == "layer") return {-1, kNoLimit};
  if (column == "bytes") return {0, limit_of_each(count)};
  if (column == "offset") return {0, kNoLimit};
  if (column == "recomputed" || column == "resident" || column == "saved") return {0, 2};
  if (column == "first" || column == "last") return {0, std::ssize(trace.launches.op) + 1};
  return {0, std::ssize(trace.texts)};
}

void check_value(int64_t value, std::pair<int64_t, int64_t> range, const char* what, const char* name) {
  if (value >= range.first && value < range.second) return;
  throw Error::format("trace: {}.{} contains {}, which is not in [{}, {})", what, name, value, range.first,
                      range.second);
}

template <class T>
void check_column(const std::vector<T>& column, size_t count, std::pair<int64_t, int64_t> range, const char* what,
                  const char* name) {
  if (column.size() != count)
    throw Error::format("trace: {}.{} has {} entries; expected {}", what, name, column.size(), count);
  if constexpr (std::is_same_v<T, int64_t>) {
    for (const int64_t value : column) check_value(value, range, what, name);
  }
}

bool is_number(std::string_view segment) { return segment.find_first_not_of("0123456789") == std::string_view::npos; }

}  // namespace

StepTrace::StepTrace() = default;
StepTrace::StepTrace(const StepTrace&) = default;
StepTrace::StepTrace(StepTrace&&) noexcept = default;
StepTrace& StepTrace::operator=(const StepTrace&) = default;
StepTrace& StepTrace::operator=(StepTrace&&) noexcept = default;
StepTrace::~StepTrace() = default;

TraceLaunch StepTrace::launch(size_t index) const {
  const auto text = [&](const std::vector<int64_t>& column) { return text_at(*this, column, index); };
  const TraceLaunches& l = launches;
  return {text(l.phase),     text(l.scope),  l.layer[index],     text(l.part),
          text(l.range),     text(l.op),     text(l.work_class), text(l.kernel),
          text(l.signature), l.flops[index], l.bytes[index],     l.recomputed[index] != 0};
}

TraceBuffer StepTrace::buffer(size_t index) const {
  const auto text = [&](const std::vector<int64_t>& column) { return text_at(*this, column, index); };
  const TraceBuffers& b = buffers;
  return {text(b.name),        text(b.op),     text(b.scope),  text(b.phase),   text(b.role),
          text(b.dtype),       text(b.shape),  b.bytes[index], b.offset[index], b.resident[index] != 0,
          b.saved[index] != 0, b.first[index], b.last[index]};
}

double StepTrace::mean_seconds(size_t launch) const {
  if (steps.empty()) return 0;
  int64_t sum = 0;
  for (const TracedStep& step : steps) sum += step.launches[launch];
  return static_cast<double>(sum) / static_cast<double>(steps.size()) * 1e-9;
}

bool is_measured(const StepTrace& trace) { return !trace.untraced.empty() && trace.mark != 0.0; }

std::optional<double> traced_over_untraced(const StepTrace& trace) {
  // Without marks, the total of a traced step is copied from an untraced step, so the ratio would be meaningless.
  if (trace.untraced.empty() || trace.steps.empty() || !trace.mark) return std::nullopt;
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
  const std::pair<int64_t, int64_t> launches{0, std::ssize(trace.launches.op)};
  const auto check_columns = [&]<class Columns>(const Columns& columns, size_t count, const char* what) {
    Columns::visit_fields(columns, [&](const Key& key, const auto& column) {
      check_column(column, count, range_of(key.name, count, trace), what, key.name);
    });
  };
  check_columns(trace.launches, trace.launch_count(), "launches");
  check_columns(trace.buffers, trace.buffer_count(), "buffers");
  for (size_t i = 0; i < trace.buffer_count(); ++i) {
    const bool is_resident = trace.buffers.resident[i] != 0;
    check_value(trace.buffers.first[i], is_resident ? std::pair<int64_t, int64_t>{0, 1} : launches, "buffers", "first");
  }
  if (trace.launch_count() > 0 || trace.peak_launch != 0)
    check_value(trace.peak_launch, launches, "trace", "peak_launch");
  for (const TracedStep& step : trace.steps) {
    check_column(step.launches, trace.launch_count(), {0, limit_of_each(trace.launch_count())}, "steps", "launches");
    // Pairs of begin and end. A begin may slightly precede the step, because the clock has limited precision.
    const size_t pairs = step.communication.size() / 2;
    check_column(step.communication, 2 * pairs, {-kNoLimit, kNoLimit}, "steps", "communication");
  }
}

std::vector<std::string_view> modules_of(std::string_view scope) {
  std::vector<std::string_view> modules;
  for (const std::string_view segment : split(scope, '.')) {
    if (is_number(segment) && !modules.empty()) {
      modules.back() = {modules.back().data(), modules.back().size() + 1 + segment.size()};
    } else {
      modules.push_back(segment);
    }
  }
  return modules;
}

std::string any_layer(std::string_view name) {
  std::vector<std::string_view> segments = split(name, '.');
  std::ranges::replace_if(segments, is_number, std::string_view("*"));
  return joined(segments, ".");
}

std::string within_layer(std::string_view scope, int64_t layer) {
  if (layer < 0) return std::string(scope);
  const std::vector<std::string_view> segments = split(scope, '.');
  const auto found = std::ranges::find(segments, std::to_string(layer));
  if (found == segments.end()) return std::string(scope);
  return joined(std::vector<std::string_view>(found + 1, segments.end()), ".");
}

}  // namespace laptime
