// AccessLog: which threads accessed each element of memory during a launch, to detect races.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "backend/cuda/device_code.h"

namespace laptime::test {

// A thread at a point in time. Barriers divide the run of a block into intervals. Accesses by two threads of a block
// are ordered if they are in different intervals.
struct Actor {
  int64_t block = 0;
  int thread = 0;
  int64_t interval = 0;
  cuda::Place place{};

  // True if the two accesses are unordered.
  bool races_with(const Actor& other) const {
    if (block != other.block) return true;
    return thread != other.thread && interval == other.interval;
  }
};

// Elements are identified by their first byte, so a kernel must not access the same bytes as several types.
class AccessLog {
 public:
  // Records an access, or describes the race if there is one.
  std::optional<std::string> load(const void* address, const Actor& actor);
  std::optional<std::string> store(const void* address, const Actor& actor);
  bool is_written(const void* address) const;
  void clear() { elements_.clear(); }

 private:
  // Blocks run one after the other, and the interval of a block only increases. It is therefore enough to keep four of
  // the reads since the last write: two by different threads in the latest interval, and one in each of two blocks.
  struct Element {
    std::optional<Actor> writer;
    std::optional<Actor> reader, other_thread;       // in the latest interval of the latest block
    std::optional<Actor> first_reader, other_block;  // in two different blocks
  };

  std::unordered_map<const void*, Element> elements_;
};

}  // namespace laptime::test
