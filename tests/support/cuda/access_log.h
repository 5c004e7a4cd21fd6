// AccessLog: who touched which element of memory during a launch, to find races.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "backend/cuda/device_code.h"

namespace laptime::test {

// A thread at one moment. Barriers divide the run of a block into intervals; what two threads of a block do in
// different intervals is ordered.
struct Actor {
  int64_t block = 0;
  int thread = 0;
  int64_t interval = 0;
  cuda::Place place{};

  // Whether nothing orders the two.
  bool races_with(const Actor& other) const {
    if (block != other.block) return true;
    return thread != other.thread && interval == other.interval;
  }
};

// Elements are told apart by their first byte: a kernel must not access the same bytes in several types.
class AccessLog {
 public:
  // Notes an access; describes the race if there is one.
  std::optional<std::string> load(const void* address, const Actor& actor);
  std::optional<std::string> store(const void* address, const Actor& actor);
  bool is_written(const void* address) const;
  void clear() { elements_.clear(); }

 private:
  // Blocks take their turns one after the other, and intervals of a block only grow. So of the threads
  // that read an element since its last write, two of the latest interval and two blocks are enough to find a race.
  struct Element {
    std::optional<Actor> writer;
    std::optional<Actor> reader, other_thread;       // of the latest interval of the latest block
    std::optional<Actor> first_reader, other_block;  // other_block: a reader whose block is not that of first_reader
  };

  std::unordered_map<const void*, Element> elements_;
};

}  // namespace laptime::test
