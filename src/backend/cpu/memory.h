// Pages: memory mapped from the operating system.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace laptime::cpu {

constexpr int64_t kPage = 4096;

// Owns zero-filled anonymous memory whose pages have not been touched yet. Memory of 2 MiB or more is aligned to 2 MiB
// and uses huge pages if the system allows it; smaller memory is aligned to 4 KiB. Throws OutOfMemory if the system has
// too little memory.
class Pages {
 public:
  explicit Pages(int64_t bytes);
  Pages(Pages&& other) noexcept : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Pages& operator=(Pages&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Pages();

  std::byte* data() const { return data_; }
  int64_t bytes() const { return bytes_; }  // rounded up to whole pages

 private:
  std::byte* data_ = nullptr;
  int64_t bytes_ = 0;
};

}  // namespace laptime::cpu
