// Workspace: divides the workspace memory of a kernel call into arrays.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/checked.h"

namespace laptime {

// Arrays are aligned to 64 bytes. If there is no memory, take() returns null and only counts the bytes.
class Workspace {
 public:
  explicit Workspace(std::byte* memory) : memory_(memory) {}

  template <class T>
  T* take(int64_t count) {
    std::byte* const at = memory_ == nullptr ? nullptr : memory_ + bytes_;
    bytes_ = align_up((Size(bytes_) + Size(count) * static_cast<int64_t>(sizeof(T))).value(), 64);
    return reinterpret_cast<T*>(at);
  }
  int64_t bytes() const { return bytes_; }

 private:
  std::byte* memory_;
  int64_t bytes_ = 0;
};

}  // namespace laptime
