// The snapshot of PyTorch's memory allocator, with the resident block and the arena of the step as its two segments.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "export/formats.h"
#include "export/pickle.h"
#include "export/traced_step.h"

namespace laptime {
namespace {

constexpr int64_t kSegmentAlignment = int64_t{2} << 20U;
constexpr int64_t kResidentAddress = int64_t{0x7f} << 40U;

// The page fails where events have categories but none is called this.
constexpr std::string_view kUnknown = "unknown";

class SnapshotWriter {
 public:
  explicit SnapshotWriter(const StepTrace& trace)
      : trace_(trace), changes_(memory_changes(trace)), resident_(resident_buffers(trace)) {
    const int64_t aligned = (trace.resident_bytes + kSegmentAlignment - 1) / kSegmentAlignment * kSegmentAlignment;
    arena_address_ = kResidentAddress + aligned;
  }

  std::string text() {
    pickle_.dict([&] {
      pickle_.item_of("device_traces", [&] { pickle_.list(1, [&](size_t) { write_events(); }); });
      pickle_.item_of("segments", [&] { write_segments(); });
      pickle_.item_of("allocator_settings", [&] { pickle_.dict([] {}); });
      pickle_.item_of("external_annotations", [&] { pickle_.empty_list(); });
    });
    return pickle_.finish();
  }

 private:
  struct Event {
    std::string_view action;
    int64_t address = 0;
    int64_t bytes = 0;
    int64_t time = 0;     // microseconds
    int64_t buffer = -1;  // -1: a whole segment
  };

  int64_t address_of(size_t buffer) const {
    return (trace_.buffers.resident[buffer] != 0 ? kResidentAddress : arena_address_) + trace_.buffers.offset[buffer];
  }

  // Microseconds at which each launch begins, and the end of the last one. Without times each launch takes one.
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

  void add(std::vector<Event>& events, std::string_view action, size_t buffer, int64_t time) const {
    events.push_back({action, address_of(buffer), trace_.buffers.bytes[buffer], time, static_cast<int64_t>(buffer)});
  }

  std::vector<Event> events() const {
    std::vector<Event> events;
    if (trace_.resident_bytes > 0) events.push_back({"segment_alloc", kResidentAddress, trace_.resident_bytes});
    if (trace_.arena_bytes > 0) events.push_back({"segment_alloc", arena_address_, trace_.arena_bytes});
    for (const size_t buffer : resident_) add(events, "alloc", buffer, 0);
    const std::vector<int64_t> times = launch_times();
    for (const MemoryChange& change : changes_) {
      const int64_t time = times[change.launch];
      if (change.is_alloc) {
        add(events, "alloc", change.buffer, time);
      } else {
        add(events, "free_requested", change.buffer, time);
        add(events, "free_completed", change.buffer, time);
      }
    }
    return events;
  }

  void write_events() {
    const std::vector<Event> all = events();
    pickle_.list(all.size(), [&](size_t i) {
      const Event& event = all[i];
      pickle_.dict([&] {
        pickle_.item("action", event.action);
        pickle_.item("addr", event.address);
        pickle_.item("size", event.bytes);
        pickle_.item("stream", 0);
        pickle_.item("time_us", event.time);
        pickle_.item("compile_context", std::string_view("N/A"));
        pickle_.item_of("frames", [&] { write_frames(event.buffer); });
        if (event.buffer < 0) {
          pickle_.item("category", kUnknown);
        } else {
          const auto buffer = static_cast<size_t>(event.buffer);
          pickle_.item("category", trace_.buffer(buffer).role);
          pickle_.item("user_metadata", std::string_view(description(buffer)));
        }
      });
    });
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

  // The innermost first. The allocation, the free and the block of a buffer share one list.
  void write_frames(int64_t index) {
    if (index < 0) return pickle_.empty_list();
    if (const auto known = frames_.find(index); known != frames_.end()) return pickle_.reference(known->second);
    const TraceBuffer buffer = trace_.buffer(static_cast<size_t>(index));
    pickle_.list(2, [&](size_t i) {
      if (i == 1) return write_frame(buffer.phase, buffer.phase, 0);
      if (buffer.op.empty()) return write_frame(buffer.role, buffer.name, buffer.first);
      write_frame(buffer.scope, buffer.op, buffer.first);
    });
    frames_.emplace(index, pickle_.remember());
  }

  void write_frame(std::string_view file, std::string_view name, int64_t line) {
    pickle_.dict([&] {
      pickle_.item("filename", file);
      pickle_.item("name", name);
      pickle_.item("line", line);
    });
  }

  void write_segments() {
    std::vector<size_t> alive;  // of the arena, after the step
    const auto launches = static_cast<int64_t>(trace_.launch_count());
    for (const MemoryChange& change : changes_) {
      if (change.is_alloc && trace_.buffers.last[change.buffer] >= launches) alive.push_back(change.buffer);
    }
    const bool has_resident = trace_.resident_bytes > 0;
    const bool has_arena = trace_.arena_bytes > 0;
    pickle_.list(static_cast<size_t>(has_resident) + static_cast<size_t>(has_arena), [&](size_t i) {
      if (i == 0 && has_resident) return write_segment(kResidentAddress, trace_.resident_bytes, resident_);
      write_segment(arena_address_, trace_.arena_bytes, alive);
    });
  }

  void write_segment(int64_t address, int64_t bytes, std::vector<size_t> alive) {
    std::sort(alive.begin(), alive.end(), [&](size_t a, size_t b) { return address_of(a) < address_of(b); });
    int64_t active = 0;
    for (const size_t buffer : alive) active += trace_.buffers.bytes[buffer];
    pickle_.dict([&] {
      pickle_.item("device", 0);
      pickle_.item("address", address);
      pickle_.item("total_size", bytes);
      pickle_.item("allocated_size", active);
      pickle_.item("active_size", active);
      pickle_.item("requested_size", active);
      pickle_.item("stream", 0);
      pickle_.item("segment_type", std::string_view("large"));
      pickle_.item_of("segment_pool_id", [&] { pickle_.pair(0, 0); });
      pickle_.item("is_expandable", false);
      pickle_.item_of("frames", [&] { pickle_.empty_list(); });
      pickle_.item_of("blocks", [&] { write_blocks(address, bytes, alive); });
    });
  }

  // The blocks of a segment fill it without gaps.
  void write_blocks(int64_t address, int64_t bytes, const std::vector<size_t>& alive) {
    struct Block {
      int64_t address;
      int64_t bytes;
      int64_t buffer;  // -1: free
    };
    std::vector<Block> blocks;
    int64_t end = address;
    const auto free_until = [&](int64_t next) {
      if (next > end) blocks.push_back({end, next - end, -1});
    };
    for (const size_t buffer : alive) {
      free_until(address_of(buffer));
      blocks.push_back({address_of(buffer), trace_.buffers.bytes[buffer], static_cast<int64_t>(buffer)});
      end = address_of(buffer) + trace_.buffers.bytes[buffer];
    }
    free_until(address + bytes);
    pickle_.list(blocks.size(), [&](size_t i) {
      const Block& block = blocks[i];
      pickle_.dict([&] {
        pickle_.item("address", block.address);
        pickle_.item("size", block.bytes);
        pickle_.item("requested_size", block.buffer < 0 ? int64_t{0} : block.bytes);
        pickle_.item("state", std::string_view(block.buffer < 0 ? "inactive" : "active_allocated"));
        pickle_.item_of("frames", [&] { write_frames(block.buffer); });
      });
    });
  }

  const StepTrace& trace_;
  std::vector<MemoryChange> changes_;
  std::vector<size_t> resident_;
  int64_t arena_address_ = 0;
  Pickle pickle_;
  std::map<int64_t, size_t> frames_;  // of a buffer -> the number by which the pickle knows them
};

}  // namespace

std::string memory_viz(std::span<const TracedRecord> records, const ExportOptions& /*options*/) {
  return SnapshotWriter(*records.front().trace).text();
}

}  // namespace laptime
