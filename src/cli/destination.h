// Destinations of output: standard streams and messages on them, a file that appears whole or not at all, a file that
// grows.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "table/text.h"

namespace laptime {

// Output could not be written: the reader has gone or does not read, or the disk is full. The store still has its
// records.
class OutputLost : public Error {
 public:
  using Error::Error;
};

// The reader of standard output has closed it, as `head` does when it has seen enough.
class ReaderGone : public OutputLost {
 public:
  using OutputLost::OutputLost;
};

struct OutputStream {
  int descriptor = 0;
  bool is_terminal = false;  // one that understands control codes
  bool unicode = false;      // by the locale of the environment
  size_t width = 0;          // columns of the terminal, or else by COLUMNS; 0: no limit

  TextStyle style() const { return {.unicode = unicode, .width = width}; }
};

OutputStream standard_output();
OutputStream standard_error();

// The width of help: that of standard output within easily readable limits, or 80 if it is unknown.
size_t help_width();

// Writes all of it now. OutputLost, naming `what`, otherwise; ReaderGone for a closed pipe at standard output.
void write_all(int descriptor, std::string_view text, std::string_view what);
void write_output(std::string_view text);  // to standard output

// Prints a line "laptime: ..." on standard error, safe for a terminal; prints nothing if standard error is closed.
void print_message(const std::string& message);

// Prints the text on standard error as it is; prints nothing if standard error is closed.
void print_error_text(std::string_view text);

// The absolute path that links lead to, also where there is no file yet.
std::filesystem::path followed(const std::filesystem::path& path);

class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept;
  operator int() const { return number_; }  // NOLINT(google-explicit-constructor): it is one

 private:
  int number_;
};

// A file that is replaced as a whole, by renaming; anything but a regular file (a pipe, a device) is opened once and
// written as it is.
class WholeFile {
 public:
  // Error unless it can be written.
  explicit WholeFile(std::string path);
  void write(std::string_view text) const;  // OutputLost
  // The file appears when `produce` has returned, and not at all if it throws.
  void write(const std::function<void(const TextSink&)>& produce) const;

 private:
  std::string path_;
  std::string target_;  // the file that links lead to, so that links stay
  Descriptor special_;  // of anything but a regular file
};

// Standard output, or the file of --output-file.
class Destination {
 public:
  explicit Destination(const std::string& file = {});  // Error unless it can be written; empty: standard output

  bool is_file() const { return file_.has_value(); }
  TextStyle style() const;                                                // of the terminal; of a file without width
  void write(std::string_view text) const;                                // OutputLost
  void write(const std::function<void(const TextSink&)>& produce) const;  // as WholeFile

 private:
  std::optional<WholeFile> file_;
};

// A file that grows: what was written stays, whatever happens next.
class GrowingFile {
 public:
  explicit GrowingFile(std::string path);  // Error unless it can be written. An old one is emptied by the first text

  void append(std::string_view text);  // on the disk when it returns. OutputLost

 private:
  std::string path_;
  bool is_special_ = false;
  Descriptor descriptor_;
  bool begun_ = false;
};

}  // namespace laptime
