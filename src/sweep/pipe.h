// Pipe: the two ends of a pipe to a child process.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include "base/error.h"

namespace laptime {

class Pipe {
 public:
  Pipe() {
    if (pipe2(ends_.data(), O_CLOEXEC) != 0)
      throw Error::format("cannot start a process ({}); raise `ulimit -n`", std::strerror(errno));
  }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  int reading() const { return ends_[0]; }
  int writing() const { return ends_[1]; }
  void close_reading() { close_end(0); }
  void close_writing() { close_end(1); }

 private:
  void close_end(size_t end) {
    if (ends_.at(end) >= 0) close(ends_.at(end));
    ends_.at(end) = -1;
  }
  std::array<int, 2> ends_{-1, -1};
};

// The bytes that are there; sets the descriptor to -1 when the other end is closed.
inline std::string read_some(int& descriptor) {
  std::array<char, 1 << 16> buffer{};
  pollfd ready{descriptor, POLLIN, 0};
  if (poll(&ready, 1, 0) <= 0) return {};
  const ssize_t count = read(descriptor, buffer.data(), buffer.size());
  if (count < 0 && (errno == EINTR || errno == EAGAIN)) return {};
  if (count <= 0) {
    descriptor = -1;
    return {};
  }
  return {buffer.data(), static_cast<size_t>(count)};
}

}  // namespace laptime
