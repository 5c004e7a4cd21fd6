// Bytes as an in-memory file with a path.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <string_view>

#include "base/error.h"

namespace laptime::fuzz {

class InputAsFile {
 public:
  explicit InputAsFile(std::string_view bytes) : descriptor_(memfd_create("fuzz", MFD_CLOEXEC)) {
    const bool written = descriptor_ >= 0 && write(descriptor_, bytes.data(), bytes.size()) == ssize_t(bytes.size());
    LAPTIME_CHECK(written, "{} bytes", bytes.size());
  }
  ~InputAsFile() { close(descriptor_); }
  InputAsFile(const InputAsFile&) = delete;
  InputAsFile& operator=(const InputAsFile&) = delete;

  std::string path() const { return fmt::format("/proc/self/fd/{}", descriptor_); }

 private:
  int descriptor_;
};

}  // namespace laptime::fuzz
