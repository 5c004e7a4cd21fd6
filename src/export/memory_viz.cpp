// Writes the memory of a step in the format of PyTorch's memory snapshots (pytorch.org/memory_viz), a Python pickle.
// Its two segments are the resident block and the step's arena.
#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "export/formats.h"
#include "export/traced_step.h"
#include "table/text.h"

namespace laptime {
namespace {

constexpr int64_t kSegmentAlignment = int64_t{2} << 20U;
constexpr int64_t kResidentAddress = int64_t{0x7f} << 40U;

// Writes Python's pickle format (protocol 2), using only opcodes that the page pytorch.org/memory_viz reads.
class Pickler {
 public:
  std::string document(const Json& value) {
    bytes_ = "\x80\x02";  // PROTO
    write(value);
    return std::move(bytes_ += '.');  // STOP
  }

 private:
  void write(const Json& value) {
    if (value.is_boolean()) {
      bytes_ += value.get<bool>() ? '\x88' : '\x89';  // NEWTRUE, NEWFALSE
    } else if (value.is_number()) {
      write_integer(value.get<int64_t>());
    } else if (value.is_string()) {
      write_text(value.text());
    } else if (value.is_object()) {
      bytes_ += "}(";  // EMPTY_DICT, MARK
      for (const auto& item : value.items()) {
        write_text(item.key);
        if (item.key == "frames" && !item.value.empty())
          write_once(item.value.dump(), [&] { write_list(item.value); });
        else
          write(item.value);
      }
      bytes_ += 'u';  // SETITEMS
    } else {
      write_list(value);
    }
  }

  void write_integer(int64_t value) {
    const auto bits = static_cast<uint64_t>(value);
    if (value >= 0 && value < 0x100) return write_number('K', bits, 1);           // BININT1
    if (value >= 0 && value < 0x10000) return write_number('M', bits, 2);         // BININT2
    if (value == static_cast<int32_t>(value)) return write_number('J', bits, 4);  // BININT
    bytes_ += '\x8a';                                                             // LONG1
    write_number('\x08', bits, 8);
  }

  // Writes text with its control bytes escaped.
  void write_text(const std::string& raw) {
    write_once(raw, [&] {
      const std::string text = printable(raw);
      write_number('X', text.size(), 4);  // BINUNICODE
      bytes_ += text;
    });
  }

  // Writes a list; a list of two integers becomes a tuple.
  void write_list(const Json& list) {
    if (list.size() == 2 && list.front().is_number() && list.back().is_number()) {
      for (const Json& element : list) write(element);
      bytes_ += '\x86';  // TUPLE2
      return;
    }
    constexpr size_t kBatch = 1000;  // the page passes a whole batch as arguments of one call
    bytes_ += ']';                   // EMPTY_LIST
    for (size_t begin = 0; begin < list.size(); begin += kBatch) {
      bytes_ += '(';  // MARK
      for (size_t i = begin; i < list.size() && i < begin + kBatch; ++i) write(list[i]);
      bytes_ += 'e';  // APPENDS
    }
  }

  void write_number(char opcode, uint64_t value, int bytes) {
    bytes_ += opcode;
    for (int i = 0; i < bytes; ++i) bytes_ += static_cast<char>(value >> (8 * i) & 0xffU);  // little-endian
  }

  void write_place(size_t place, char opcode, char long_opcode) {
    place < 0x100 ? write_number(opcode, place, 1) : write_number(long_opcode, place, 4);
  }

  // Writes a value with `write_first`, or a reference if the value was written before.
  void write_once(const std::string& value, const std::function<void()>& write_first) {
    const auto known = places_.find(value);
    if (known != places_.end()) return write_place(known->second, 'h', 'j');  // BINGET, LONG_BINGET
    write_first();
    write_place(places_.size(), 'q', 'r');  // BINPUT, LONG_BINPUT
    places_.emplace(value, places_.size());
  }

  std::string bytes_;
  std::map<std::string, size_t> places_;
};

class Snapshot {
 public:
  explicit Snapshot(const StepTrace& trace) : trace_(trace) {}

  Json json() const {
    Json traces = Json::array();
    traces.push_back(events());
    return {{"device_traces", std::move(traces)},
            {"segments", segments()},
            {"allocator_settings", Json::object()},
            {"external_annotations", Json::array()}};
  }

 private:
  int64_t address_of(size_t buffer) const {
    return (trace_.buffers.resident[buffer] != 0 ? kResidentAddress : arena_address_) + trace_.buffers.offset[buffer];
  }

  // Microseconds at which each launch begins, and the end of the last one. Without measured times, each launch takes
  // one microsecond.
  std::vector<int64_t> launch_times() const {
    std::vector<int64_t> times{0};
    const TracedStep* const step = trace_.steps.empty() ? nullptr : &median_step(trace_);
    int64_t nanoseconds = 0;
    for (size_t i = 0; i < trace_.launch_count(); ++i) {
      nanoseconds += step == nullptr ? 1000 : step->launches[i];
      times.push_back(nanoseconds / 1000);
    }
    return times;
  }

  static Json event(const char* action, int64_t address, int64_t bytes, int64_t time, Json frames) {
    return {{"action", action},
            {"addr", address},
            {"size", bytes},
            {"stream", 0},
            {"time_us", time},
            {"compile_context", "N/A"},
            {"frames", std::move(frames)}};
  }

  // The page pytorch.org/memory_viz fails if events have categories but none is called "unknown".
  static void add_segment(Json& events, int64_t address, int64_t bytes) {
    if (bytes == 0) return;
    events.emplace_back(event("segment_alloc", address, bytes, 0, Json::array()))["category"] = "unknown";
  }

  void add_buffer(Json& events, const char* action, size_t index, int64_t time) const {
    Json& added =
        events.emplace_back(event(action, address_of(index), trace_.buffers.bytes[index], time, frames(index)));
    added["category"] = trace_.buffer(index).role;
    added["user_metadata"] = description(index);
  }

  Json events() const {
    Json events = Json::array();
    add_segment(events, kResidentAddress, trace_.resident_bytes);
    add_segment(events, arena_address_, trace_.arena_bytes);
    for (const size_t buffer : resident_) add_buffer(events, "alloc", buffer, 0);
    const std::vector<int64_t> times = launch_times();
    for (const MemoryChange& change : memory_changes(trace_)) {
      const int64_t time = times[change.launch];
      if (change.is_alloc) {
        add_buffer(events, "alloc", change.buffer, time);
      } else {
        add_buffer(events, "free_requested", change.buffer, time);
        add_buffer(events, "free_completed", change.buffer, time);
      }
    }
    return events;
  }

  // "layers.0.attn.scores float32 [4, 12, 256, 256]"
  std::string description(size_t index) const {
    const TraceBuffer buffer = trace_.buffer(index);
    std::string text(buffer.name);
    for (const std::string_view part : {buffer.dtype, buffer.shape}) {
      if (!text.empty() && !part.empty()) text += ' ';
      text += part;
    }
    return text;
  }

  static Json frame(std::string_view file, std::string_view name, int64_t line) {
    return {{"filename", file}, {"name", name}, {"line", line}};
  }

  // The op that writes the buffer (for a source, the source itself) and the phase, as stack frames, innermost first.
  Json frames(size_t index) const {
    const TraceBuffer buffer = trace_.buffer(index);
    Json frames = Json::array();
    frames.push_back(buffer.op.empty() ? frame(buffer.role, buffer.name, buffer.first)
                                       : frame(buffer.scope, buffer.op, buffer.first));
    frames.push_back(frame(buffer.phase, buffer.phase, 0));
    return frames;
  }

  Json segments() const {
    Json segments = Json::array();
    if (trace_.resident_bytes > 0) segments.push_back(segment(kResidentAddress, trace_.resident_bytes, resident_));
    if (trace_.arena_bytes > 0)
      segments.push_back(segment(arena_address_, trace_.arena_bytes, outliving_buffers(trace_)));
    return segments;
  }

  // A segment, which its blocks fill without gaps.
  Json segment(int64_t address, int64_t bytes, std::vector<size_t> alive) const {
    std::ranges::sort(alive, {}, [&](size_t buffer) { return address_of(buffer); });
    Json blocks = Json::array();
    int64_t active = 0;
    int64_t end = address;
    const auto add_block = [&](int64_t size, int64_t requested, const char* state, Json frames) {
      blocks.push_back({{"address", end},
                        {"size", size},
                        {"requested_size", requested},
                        {"state", state},
                        {"frames", std::move(frames)}});
      end += size;
    };
    const auto free_until = [&](int64_t next) {
      if (next > end) add_block(next - end, 0, "inactive", Json::array());
    };
    for (const size_t buffer : alive) {
      const int64_t size = trace_.buffers.bytes[buffer];
      free_until(address_of(buffer));
      add_block(size, size, "active_allocated", frames(buffer));
      active += size;
    }
    free_until(address + bytes);
    return {{"device", 0},
            {"address", address},
            {"total_size", bytes},
            {"allocated_size", active},
            {"active_size", active},
            {"requested_size", active},
            {"stream", 0},
            {"segment_type", "large"},
            {"segment_pool_id", Json::array({0, 0})},
            {"is_expandable", false},
            {"frames", Json::array()},
            {"blocks", std::move(blocks)}};
  }

  const StepTrace& trace_;
  std::vector<size_t> resident_ = resident_buffers(trace_);
  int64_t arena_address_ =
      kResidentAddress + (trace_.resident_bytes + kSegmentAlignment - 1) / kSegmentAlignment * kSegmentAlignment;
};

}  // namespace

std::string pickled(const Json& value) { return Pickler().document(value); }

std::string memory_viz(std::span<const TracedRecord> records, const ExportOptions& /*options*/) {
  return pickled(Snapshot(*records.front().trace).json());
}

}  // namespace laptime
