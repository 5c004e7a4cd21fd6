// Descriptor: owns a file descriptor and closes it. Pipe: the two ends of a pipe to a child process. Functions that
// read from a descriptor without waiting, and one that writes.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace laptime {

class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  operator int() const { return number_; }  // NOLINT(google-explicit-constructor): a Descriptor is a file descriptor

 private:
  int number_;
};

class Pipe {
 public:
  Pipe() {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0)
      throw Error::format("cannot start a process ({}); raise `ulimit -n`", std::strerror(errno));
    reading_ = Descriptor(ends[0]);
    writing_ = Descriptor(ends[1]);
  }

  int reading() const { return reading_; }
  int writing() const { return writing_; }
  Descriptor take_reading() { return std::move(reading_); }
  Descriptor take_writing() { return std::move(writing_); }
  void close_reading() { take_reading(); }
  void close_writing() { take_writing(); }

 private:
  Descriptor reading_, writing_;
};

// True if the descriptor is open, and either has bytes to read or its other end is closed.
inline bool has_input(int descriptor) {
  pollfd ready{descriptor, POLLIN, 0};
  return descriptor >= 0 && poll(&ready, 1, 0) > 0;
}

// Reads the available bytes, at most 64 KiB; sets the descriptor to -1 when the other end is closed or reading fails.
inline std::string read_some(int& descriptor) {
  std::array<char, 1 << 16> buffer{};
  if (!has_input(descriptor)) return {};
  const ssize_t count = read(descriptor, buffer.data(), buffer.size());
  if (count < 0 && (errno == EINTR || errno == EAGAIN)) return {};
  if (count <= 0) {
    descriptor = -1;
    return {};
  }
  return {buffer.data(), static_cast<size_t>(count)};
}

// Writes all of the text. Returns false if that fails, for example because the reader has closed the pipe.
inline bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

}  // namespace laptime
