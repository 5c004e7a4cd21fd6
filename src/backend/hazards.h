// Hazards: which earlier launches a launch must wait for, derived from the bytes that launches read and write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "backend/backend.h"

namespace laptime {

class Hazards {
 public:
  // Adds the next launch. Returns the numbers, counted from 0 in the order of add(), of earlier launches after which it
  // must run: those that wrote bytes which it reads or writes, and those that read bytes which it writes. They are in
  // ascending order. Launches whose bytes have since been written again are left out, because the later writers already
  // wait for them. Gaps in the storage of an operand count as read or written.
  const std::vector<size_t>& add(const Launch& launch);
  // Forgets all launches; numbers begin at 0 again.
  void clear();

 private:
  struct Access {
    const std::byte* begin = nullptr;
    const std::byte* end = nullptr;
    size_t launch = 0;
    bool writes = false;
  };
  void touch(const std::byte* begin, int64_t bytes, bool writes);
  void touch(const TensorView& view, bool writes);

  std::vector<Access> earlier_;  // of earlier launches
  std::vector<Access> current_;  // of the launch that is being added
  std::vector<size_t> awaited_;
  size_t launches_ = 0;
};

}  // namespace laptime
