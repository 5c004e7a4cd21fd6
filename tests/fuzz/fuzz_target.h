// A fuzz target: a parser, seed inputs, and words of its grammar. The parser may throw Error for any input; a crash, a
// hang or another exception is a defect.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace laptime::fuzz {

// Returns valid or almost valid inputs.
std::vector<std::string> seeds();
// Words that mutations insert; may be empty.
std::vector<std::string> words();

inline std::string_view text_of(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// Runs `parse`, which may throw Error.
template <class Parse>
void accept_or_refuse(const Parse& parse) {
  try {
    parse();
  } catch (const Error&) {  // expected: the input was rejected with a message
  }
}

// An in-memory file with the given bytes, which a parser can open by its path.
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
