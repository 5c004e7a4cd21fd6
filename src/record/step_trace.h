// StepTrace: the launches and buffers of one training step, and when each launch ran, as data that can be stored.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/key.h"

namespace laptime {

// One launch of a step. The trace owns the strings.
struct TraceLaunch {
  std::string_view phase;       // "forward", "backward", "optimizer"
  std::string_view scope;       // "layers.3.attn.scores"
  int64_t layer = -1;           // -1: outside the stack of layers
  std::string_view part;        // outermost module within the layer, or else of the model: "attn", "lm_head"
  std::string_view range;       // path of ranges, "scaled dot product attention/computing softmax"
  std::string_view op;          // "matmul"
  std::string_view work_class;  // "matmul", "softmax", "elementwise", ...
  std::string_view kernel;      // "tiles_avx2"
  std::string_view signature;   // "matmul(float32 [1024, 768], ...)"
  double flops = 0;             // model FLOPs
  int64_t bytes = 0;            // bytes that must be read and written
  bool recomputed = false;
};

// One buffer of a step. The trace owns the strings.
struct TraceBuffer {
  std::string_view name;   // name of the source or value; empty if there is none
  std::string_view op;     // op of the launch that first writes the buffer; empty for a source
  std::string_view scope;  // scope of that launch
  std::string_view phase;  // phase of that launch; "setup" for a source or constant
  std::string_view role;   // "parameter", "gradient", "activation", ...
  std::string_view dtype;  // empty for workspace, as is `shape`
  std::string_view shape;  // "[4, 256, 768]"
  int64_t bytes = 0;       // requested size; the allocation is rounded up
  int64_t offset = 0;      // from the start of the step's arena, or of the resident block
  bool resident = false;   // lives for the whole run
  bool saved = false;      // written by set-up or forward and read by backward; not a parameter, gradient or state
  int64_t first = 0;       // first launch that uses the buffer; 0 for a resident buffer
  int64_t last = 0;        // last launch that needs the buffer; the number of launches if it outlives the step
};

// Columns with one entry per launch. Strings are indices into StepTrace::texts.
struct TraceLaunches {
  std::vector<int64_t> phase, scope, layer, part, range, op, work_class, kernel, signature;
  std::vector<double> flops;
  std::vector<int64_t> bytes;
  std::vector<int64_t> recomputed;  // 0 or 1

  friend bool operator==(const TraceLaunches&, const TraceLaunches&) = default;
  LAPTIME_FIELDS(phase, scope, layer, part, range, op, work_class, kernel, signature, (kFlops, flops), (kBytes, bytes),
                 recomputed)
};

// Columns with one entry per buffer.
struct TraceBuffers {
  std::vector<int64_t> name, op, scope, phase, role, dtype, shape, bytes, offset, resident, saved, first, last;

  friend bool operator==(const TraceBuffers&, const TraceBuffers&) = default;
  LAPTIME_FIELDS(name, op, scope, phase, role, dtype, shape, (kBytes, bytes, offset), resident, saved, first, last)
};

// One traced step. If timestamps (marks) were taken, launches run back to back: each begins when the previous one has
// ended. If the device recorded the launches, the gaps between them are unknown, and `total` is the time of the
// untraced step before this one.
struct TracedStep {
  double begin = 0;               // seconds from the start of the step to its first launch
  double total = 0;               // seconds of the whole step
  std::vector<int64_t> launches;  // nanoseconds of each launch
  // Begin and end of each communication launch, two numbers each, in nanoseconds from the beginning of the step.
  // Communication runs alongside other launches, so the entry of such a launch in `launches` is only the time to start
  // the communication.
  std::vector<int64_t> communication{};

  friend bool operator==(const TracedStep&, const TracedStep&) = default;
  LAPTIME_FIELDS((kSeconds, begin, total), launches, communication)
};

// How busy a device was, according to its own records of the traced steps, and how long steps took as a replayed graph,
// where no kernel waits for the host. Empty for a device that supports neither.
struct DeviceUse {
  std::string records;           // what recorded the activity: "CUPTI"
  std::string missing;           // why there are no records; empty if there are
  int64_t kernels = 0;           // kernels in one watched step (a step whose activity was recorded)
  int64_t copies = 0;            // memory copies and fills in one watched step
  std::vector<double> busy;      // per watched step, seconds in which any kernel, copy or fill ran
  std::vector<double> recorded;  // seconds of steps that were replayed as a graph
  int64_t usually_recorded = 0;  // 1 if the untraced steps were also replayed as a graph, otherwise 0

  friend bool operator==(const DeviceUse&, const DeviceUse&) = default;
  LAPTIME_FIELDS(records, missing, kernels, copies, (kSeconds, busy, recorded), usually_recorded)
};

struct StepTrace {
  std::vector<std::string> texts;
  TraceLaunches launches;
  TraceBuffers buffers;
  int64_t resident_bytes = 0;     // size of the block of resident buffers, including alignment gaps
  int64_t arena_bytes = 0;        // size of the step's arena
  int64_t live_peak_bytes = 0;    // peak bytes of live step buffers
  int64_t peak_launch = 0;        // index of the launch at which live step buffers peak
  std::vector<TracedStep> steps;  // empty: the step did not run or was not traced
  std::vector<double> untraced;   // seconds of steps without timestamps, alternating with `steps`
  std::optional<double> mark;     // seconds that one timestamp takes; none if the device recorded the launches
  DeviceUse device;
  // FLOP/s of matrix products in this step's number type, and main-memory bytes/s, as measured or used for the
  // prediction.
  std::optional<double> peak_flops, bandwidth;
  std::optional<double> datasheet_flops, datasheet_bandwidth;  // from the device's data sheet; FLOP/s, bytes/s
  std::optional<int64_t> cache_bytes;                          // what the caches before main memory can hold

  size_t launch_count() const { return launches.op.size(); }
  size_t buffer_count() const { return buffers.bytes.size(); }
  TraceLaunch launch(size_t index) const;
  TraceBuffer buffer(size_t index) const;
  // Mean seconds of a launch over the traced steps; 0 if there are none.
  double mean_seconds(size_t launch) const;

  // Defaulted in step_trace.cpp, so that copies and destruction of this large struct are compiled only once.
  StepTrace();
  StepTrace(const StepTrace&);
  StepTrace(StepTrace&&) noexcept;
  StepTrace& operator=(const StepTrace&);
  StepTrace& operator=(StepTrace&&) noexcept;
  ~StepTrace();

  friend bool operator==(const StepTrace&, const StepTrace&) = default;
  LAPTIME_FIELDS(texts, launches, buffers, (kBytes, resident_bytes, arena_bytes, live_peak_bytes), peak_launch, steps,
                 (kSeconds, untraced, mark), device, (kFlopsPerSecond, peak_flops), (kBytesPerSecond, bandwidth),
                 (kFlopsPerSecond, datasheet_flops), (kBytesPerSecond, datasheet_bandwidth), (kBytes, cache_bytes))
};

// If traced steps differ from untraced ones by more than this fraction, they were disturbed and their shares are rough.
inline constexpr double kDisturbed = 0.1;

// True if the steps actually ran. A predicted trace has no untraced steps, or its timestamps take no time, because its
// clock is virtual.
bool is_measured(const StepTrace& trace);

// Mean traced step time divided by the median of the untraced steps alternating with them; none if nothing was
// measured or the device recorded the launches.
std::optional<double> traced_over_untraced(const StepTrace& trace);
// Whether traced steps were faster than untraced ones by more than kDisturbed, or slower by more than kDisturbed plus
// the cost of the timestamps.
bool is_disturbed(const StepTrace& trace);

// Throws Error unless each column has one entry per launch or buffer, and its values are within bounds: indices into
// `texts` and launches (the end of a buffer may be the number of launches), flags of 0 or 1, and sizes of at least 0.
void check(const StepTrace& trace);

// The modules of a scope, outermost first. An index belongs to the preceding name: "layers.3.attn.scores" has the
// modules "layers.3", "attn" and "scores".
std::vector<std::string_view> modules_of(std::string_view scope);

// "layers.3.attn.scores" -> "layers.*.attn.scores"
std::string any_layer(std::string_view name);

// The scope within the layer: "layers.3.attn.scores" and layer 3 -> "attn.scores". The whole scope if it is not in
// that layer, or the layer is -1.
std::string within_layer(std::string_view scope, int64_t layer);

}  // namespace laptime
