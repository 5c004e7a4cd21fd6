// `Error` for invalid input and machine problems, and `LAPTIME_CHECK` for bugs in this program.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace laptime {

// Thrown for invalid input or a problem with the machine or environment. The message says what is wrong, where, and
// what to do about it. Caught in `run_one` (one point of a sweep) and in `run_program` (exit code 2).
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message) : std::runtime_error(message) {}

  // Error::format("unknown model '{}'; try: laptime list models", name)
  template <class... Args>
  static Error format(fmt::format_string<Args...> text, Args&&... args) {
    return Error(fmt::format(text, std::forward<Args>(args)...));
  }
};

// Thrown if the machine lacks the requested memory. The point's row then shows the status `out_of_memory` and the
// message.
class OutOfMemory : public Error {
 public:
  // `bytes_available` is none if unknown.
  OutOfMemory(int64_t bytes_requested, std::optional<int64_t> bytes_available);
  OutOfMemory(int64_t bytes_requested, std::optional<int64_t> bytes_available, const std::string& message);

  int64_t bytes_requested() const { return bytes_requested_; }
  std::optional<int64_t> bytes_available() const { return bytes_available_; }

 private:
  int64_t bytes_requested_;
  std::optional<int64_t> bytes_available_;
};

// Prints the location, the condition and `values`, then aborts. Called only for bugs, never for bad input.
[[noreturn]] void abort_with(const char* file, int line, const char* condition, const std::string& values);

}  // namespace laptime

// LAPTIME_CHECK(condition, "format", values...): an internal invariant; aborts and prints the values if it is violated.
#define LAPTIME_CHECK(condition, ...)                                                       \
  do {                                                                                      \
    if (!(condition)) [[unlikely]] {                                                        \
      ::laptime::abort_with(__FILE__, __LINE__, #condition, ::fmt::format("" __VA_ARGS__)); \
    }                                                                                       \
  } while (false)
