// Test helpers: temporary files, the bytes of numbers and of safetensors files, and error messages.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "base/error.h"

namespace laptime {

// A file with the given bytes in a temporary folder of its own. The destructor removes both.
class WrittenFile {
 public:
  WrittenFile(const std::string& name, std::string_view bytes) {
    folder_ = testing::TempDir() + "/laptime_data_XXXXXX";
    if (mkdtemp(folder_.data()) == nullptr) throw Error("no temporary folder");
    path_ = folder_ + "/" + name;
    write(bytes);
  }
  ~WrittenFile() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  WrittenFile(const WrittenFile&) = delete;
  WrittenFile& operator=(const WrittenFile&) = delete;

  const std::string& path() const { return path_; }
  void write(std::string_view bytes) const {
    std::ofstream(path_, std::ios::binary | std::ios::trunc)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }

 private:
  std::string folder_;
  std::string path_;
};

inline std::string bytes_of_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// The little-endian bytes of a number.
template <class T>
std::string bytes_of(T value) {
  std::string bytes(sizeof(T), '\0');
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

inline std::string safetensors_bytes(std::string_view header, std::string_view data) {
  return bytes_of<uint64_t>(header.size()) + std::string(header) + std::string(data);
}

// Expects that a std::string contains `part`.
#define EXPECT_SAYS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

// The message of the Error that `run` throws. If it throws nothing, the test fails and the result is "".
template <class Run>
std::string error_of(Run&& run) {
  try {
    run();
  } catch (const Error& error) {
    return error.what();
  }
  ADD_FAILURE() << "no Error";
  return "";
}

}  // namespace laptime
