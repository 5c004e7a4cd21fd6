// Writes a trace as trace event JSON, in the form of PyTorch's profiler (Kineto).
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/json.h"
#include "export/formats.h"
#include "export/traced_step.h"
#include "report/names.h"

namespace laptime {
namespace {

// Kineto numbers a device's rows by device and stream. Ranges and launches nest in one row, kStream; the host's row
// contains the ranges of steps.
constexpr int kDevice = 0;
constexpr int kStream = 7;
constexpr int kHost = 1;
constexpr int kCommunication = 8;  // row for communication launches, which run alongside the others

// Optional parts of a trace, in addition to its slices.
struct Detail {
  bool figures = true;        // signature, FLOPs and bytes of each launch
  bool kernels = true;        // the kernel of each launch
  bool memory_events = true;  // each allocation and free
  int64_t shortest = 0;       // adjacent launches and ranges shorter than this, in nanoseconds, share a slice
};

// The string as a JSON literal, with quotes.
std::string escaped(std::string_view text) { return Json(text).dump(); }

// Rounds to whole microseconds. HTA itself rounds fractional start times up and end times down, which leaves a gap of a
// microsecond between any two launches. With this rounding, adjacent launches stay adjacent and nested slices stay
// nested.
int64_t microseconds(int64_t nanoseconds) { return (nanoseconds + 500) / 1000; }

class TraceWriter {
 public:
  TraceWriter(const TracedRecord& traced, const StepSlices& timeline, const Detail& detail)
      : record_(traced.record), trace_(*traced.trace), timeline_(timeline), detail_(detail) {}

  std::string text() {
    name_rows();
    for (size_t i = 0; i < timeline_.slices.size(); i += timeline_.slices[i].inside + 1) write_slice(i);
    for (size_t i = 0; i < timeline_.steps.size(); ++i) {
      const StepSpan& step = timeline_.steps[i];
      // The range by which HTA and TensorBoard distinguish steps.
      write_complete("user_annotation", fmt::format("ProfilerStep#{}", i + 1), kHost, step.begin, step.end, "");
      write_communication(step);
      write_memory(step);
    }
    return head() + events_ + "\n],\n\"traceName\": " + escaped(record_.name) + "\n}\n";
  }

 private:
  template <class... Args>
  void event(fmt::format_string<Args...> text, Args&&... args) {
    if (!events_.empty()) events_ += ",\n";
    fmt::format_to(std::back_inserter(events_), text, std::forward<Args>(args)...);
  }

  // HTA finds the rank with a pattern that requires the space after the colon.
  std::string head() {
    const Json about{{"name", record_.name},
                     {"created", record_.created},
                     {"predicted", is_predicted(record_)},
                     {"fingerprint", is_predicted(record_) ? Json(nullptr) : Json(record_.fingerprint)},
                     {"traced_steps", trace_.steps.size()},
                     {"steps_here", timeline_.steps.size()},
                     {"left_out", left_out()}};
    const Json devices = Json::array({{{"id", kDevice}, {"name", marked_machine_of(record_)}}});
    const Json* const ranks = record_.config.json().find("ranks");
    return fmt::format(
        "{{\n\"schemaVersion\": 1,\n\"deviceProperties\": {},\n"
        "\"distributedInfo\": {{\"backend\": \"none\", \"rank\": 0, \"world_size\": {}}},\n"
        "\"displayTimeUnit\": \"ms\",\n\"laptime\": {},\n\"traceEvents\": [\n",
        devices.dump(), ranks != nullptr && ranks->is_number_integer() ? ranks->dump() : "1", about.dump());
  }

  Json left_out() const {
    Json notes = Json::array();
    if (timeline_.steps.size() < trace_.steps.size())
      notes.push_back("all traced steps but the median one (--steps all)");
    if (!detail_.figures) notes.push_back("signature, FLOPs and bytes of each launch");
    if (!detail_.kernels) notes.push_back("the kernel of each launch");
    if (!detail_.memory_events) notes.push_back("individual allocations and frees");
    if (detail_.shortest > 0) {
      notes.push_back(fmt::format("adjacent launches and ranges shorter than {} us, merged into one slice",
                                  static_cast<double>(detail_.shortest) / 1000));
    }
    return notes;
  }

  void name_rows() {
    const auto name = [&](const char* kind, int row, const std::string& args) {
      event(R"({{"ph":"M","name":"{}","pid":{},"tid":{},"ts":0,"args":{{{}}}}})", kind, kDevice, row, args);
    };
    name("process_name", kStream, "\"name\":" + escaped("laptime " + record_.name));
    name("process_labels", kStream,
         "\"labels\":" + escaped(fmt::format("{}, {}", record_.created, marked_machine_of(record_))));
    name("process_sort_index", kStream, "\"sort_index\":0");
    name("thread_name", kStream, fmt::format("\"name\":\"stream {}\"", kStream));
    name("thread_name", kHost, "\"name\":\"steps\"");
    if (!trace_.steps.empty() && !trace_.steps.front().communication.empty())
      name("thread_name", kCommunication, "\"name\":\"communication\"");
  }

  void write_complete(const char* category, std::string_view name, int row, int64_t begin, int64_t end,
                      const std::string& args) {
    event(R"({{"ph":"X","cat":"{}","name":{},"pid":{},"tid":{},"ts":{},"dur":{},"args":{{"ns":{}{}}}}})", category,
          escaped(name), kDevice, row, microseconds(begin), microseconds(end) - microseconds(begin), end - begin, args);
  }

  // Writes a slice for each communication launch that moves bytes, in the order of the plan.
  void write_communication(const StepSpan& span) {
    const std::vector<int64_t>& times = span.step->communication;
    size_t at = 0;
    for (size_t i = 0; i < trace_.launch_count() && at + 1 < times.size(); ++i) {
      const TraceLaunch launch = trace_.launch(i);
      if (launch.work_class != "communication" || launch.bytes == 0) continue;
      write_complete("kernel", launch.op, kCommunication, span.begin + times[at], span.begin + times[at + 1],
                     fmt::format(",\"stream\":{},\"bytes\":{}", kCommunication, launch.bytes));
      at += 2;
    }
  }

  // HTA treats slices with a stream as kernels, and in a trace of several steps keeps only kernels whose launch it
  // finds on the host.
  void write_kernel(std::string_view name, int64_t begin, int64_t end, const std::string& args) {
    std::string correlation;
    if (timeline_.steps.size() > 1) {
      correlation = fmt::format(",\"correlation\":{}", ++kernels_);
      write_complete("cuda_runtime", "cudaLaunchKernel", kHost, begin, begin, correlation);
    }
    write_complete("kernel", name, kStream, begin, end, fmt::format(",\"stream\":{}{}{}", kStream, correlation, args));
  }

  void write_slice(size_t index) {
    const Slice& slice = timeline_.slices[index];
    if (slice.kind == Slice::Kind::kLaunch) {
      write_kernel(slice.name, slice.begin, slice.end, arguments_of(slice.launch));
      return;
    }
    write_complete("gpu_user_annotation", slice.name, kStream, slice.begin, slice.end, "");
    std::vector<size_t> tiny;  // adjacent short slices that have not been written yet
    const size_t end = index + 1 + slice.inside;
    for (size_t i = index + 1; i < end; i += timeline_.slices[i].inside + 1) {
      if (timeline_.slices[i].end - timeline_.slices[i].begin < detail_.shortest) {
        tiny.push_back(i);
        continue;
      }
      write_together(tiny);
      write_slice(i);
    }
    write_together(tiny);
  }

  void write_together(std::vector<size_t>& tiny) {
    if (tiny.empty()) return;
    const Slice& first = timeline_.slices[tiny.front()];
    const Slice& last = timeline_.slices[tiny.back()];
    if (tiny.size() == 1 && first.inside == 0) {
      write_slice(tiny.front());
    } else {
      // The last launch in a slice is that of its last inner slice, or of the slice itself if it has none.
      const size_t launches = timeline_.slices[tiny.back() + last.inside].launch - first.launch + 1;
      write_kernel(fmt::format("{} launch{}", launches, launches == 1 ? "" : "es"), first.begin, last.end, "");
    }
    tiny.clear();
  }

  std::string arguments_of(size_t index) {
    const TraceLaunch launch = trace_.launch(index);
    std::string args;
    if (detail_.kernels) args += fmt::format(",\"kernel\":{}", escaped(launch.kernel));
    if (!detail_.figures) return args;
    return args + fmt::format(",\"launch\":{},\"class\":{},\"signature\":{},\"FLOP\":{},\"bytes\":{}", index,
                              escaped(launch.work_class), escaped(launch.signature), Json(launch.flops).dump(),
                              launch.bytes);
  }

  void write_memory(const StepSpan& step) {
    std::vector<int64_t> active(roles_.size(), 0);
    int64_t total = 0;
    const auto change = [&](size_t buffer, int64_t sign) {
      const int64_t bytes = sign * trace_.buffers.bytes[buffer];
      const auto role = std::ranges::find(roles_, trace_.buffer(buffer).role) - roles_.begin();
      active[static_cast<size_t>(role)] += bytes;
      total += bytes;
    };
    for (const size_t buffer : resident_buffers(trace_)) change(buffer, 1);
    if (&step != &timeline_.steps.front()) free_previous(step.begin, total);
    write_active(step.begin, active);

    int64_t time = step.first_launch;
    int64_t written = step.begin;
    size_t next = 0;
    for (size_t launch = 0; launch <= trace_.launch_count(); ++launch) {
      const size_t first = next;
      for (; next < changes_.size() && changes_[next].launch == launch; ++next) {
        const MemoryChange& now = changes_[next];
        change(now.buffer, now.is_alloc ? 1 : -1);
        if (detail_.memory_events) write_event(time, now, total);
      }
      const bool at_peak = launch == static_cast<size_t>(trace_.peak_launch);
      if (next > first && (at_peak || launch == trace_.launch_count() || time - written >= detail_.shortest)) {
        write_active(time, active);
        written = time;
      }
      if (launch < trace_.launch_count()) time += step.step->launches[launch];
    }
  }

  // Frees the buffers that outlived the previous step, because the plan of a step gives their space to others until it
  // allocates them again. `resident`: the bytes of resident buffers.
  void free_previous(int64_t time, int64_t resident) {
    if (!detail_.memory_events) return;
    const std::vector<size_t> outliving = outliving_buffers(trace_);
    int64_t total = resident;
    for (const size_t buffer : outliving) total += trace_.buffers.bytes[buffer];
    for (const size_t buffer : outliving) {
      total -= trace_.buffers.bytes[buffer];
      write_event(time, {.launch = 0, .buffer = buffer, .is_alloc = false}, total);
    }
  }

  void write_active(int64_t time, const std::vector<int64_t>& active) {
    std::string args;
    for (size_t i = 0; i < roles_.size(); ++i)
      args += fmt::format("{}{}:{}", i == 0 ? "" : ",", escaped(roles_[i]), active[i]);
    event(R"({{"ph":"C","name":"active bytes","pid":{},"ts":{},"args":{{{}}}}})", kDevice, microseconds(time), args);
  }

  void write_event(int64_t time, const MemoryChange& change, int64_t total) {
    const TraceBuffer buffer = trace_.buffer(change.buffer);
    constexpr int kCpu = 0;
    event(R"({{"ph":"i","cat":"cpu_instant_event","s":"t","name":"[memory]","pid":{},"tid":{},"ts":{},)"
          R"("args":{{"Total Reserved":{},"Total Allocated":{},"Bytes":{},"Addr":{},)"
          R"("Device Id":{},"Device Type":{},"Ev Idx":{}}}}})",
          kDevice, kStream, microseconds(time), trace_.resident_bytes + trace_.arena_bytes, total,
          change.is_alloc ? buffer.bytes : -buffer.bytes, trace_.resident_bytes + buffer.offset, kDevice, kCpu,
          change.buffer);
  }

  const Record& record_;
  const StepTrace& trace_;
  const StepSlices& timeline_;
  Detail detail_;
  std::vector<std::string_view> roles_ = roles_of(trace_);
  std::vector<MemoryChange> changes_ = memory_changes(trace_);
  std::string events_;
  int64_t kernels_ = 0;  // number of kernels written
};

}  // namespace

std::string chrome_trace(const TracedRecord& traced, ExportedSteps steps, size_t max_bytes) {
  const StepSlices timeline = slices_of(traced, steps);
  const auto text = [&](const Detail& detail) { return TraceWriter(traced, timeline, detail).text(); };
  Detail detail;
  std::string written = text(detail);
  for (bool Detail::*const part : {&Detail::figures, &Detail::memory_events, &Detail::kernels}) {
    if (written.size() <= max_bytes) return written;
    detail.*part = false;
    written = text(detail);
  }
  const int64_t whole = timeline.steps.back().end;
  for (detail.shortest = 1000; written.size() > max_bytes && detail.shortest / 2 < whole; detail.shortest *= 2)
    written = text(detail);
  return written;
}

std::string chrome_trace(std::span<const TracedRecord> records, const ExportOptions& options) {
  return chrome_trace(records.front(), options.steps,
                      options.steps == ExportedSteps::kAll ? kMaxLongTraceBytes : kMaxTraceBytes);
}

}  // namespace laptime
