// Hazards: which earlier launches a launch must wait for, derived from the bytes that launches read and write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "backend/backend.h"

namespace laptime {

class Hazards {
 public:
  // Adds the next launch, and returns the earlier launches that it must wait for: those that wrote bytes that the
  // launch reads or writes, and those that read bytes that it writes. Launches are numbered from 0 in the order of
  // add(), and the result is in ascending order. Launches whose bytes have since been overwritten are left out, because
  // the later writers already wait for them. Gaps in the storage of an operand count as read or written.
  const std::vector<size_t>& add(const Launch& launch);
  // Forgets all launches, and restarts the numbering at 0.
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

  std::vector<Access> earlier_;  // accesses of earlier launches
  std::vector<Access> current_;  // accesses of the launch that is being added
  std::vector<size_t> awaited_;
  size_t launches_ = 0;
};

}  // namespace laptime
