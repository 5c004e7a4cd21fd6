// Destinations of output: standard streams, messages, files that appear whole or not at all, and files that grow.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "sweep/pipe.h"
#include "table/text.h"

namespace laptime {

// Output could not be written: the reader has gone or does not read, or the disk is full.
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

size_t help_width();  // the width of standard output within easily readable limits; 80 if it is unknown

// Writes all of it now. OutputLost, naming `what`, otherwise; ReaderGone for a closed pipe at standard output.
void write_all(int descriptor, std::string_view text, std::string_view what);
void write_output(std::string_view text);  // to standard output

// Prints a line "laptime: ..." on standard error, safe for a terminal; prints nothing if standard error is closed.
void print_message(const std::string& message);

// Writes text whose loss does not matter, because nobody reads it.
void write_softly(int descriptor, std::string_view text);
void print_error_text(std::string_view text);  // on standard error, as it is

// The absolute path that links lead to, also where there is no file yet.
std::filesystem::path followed(const std::filesystem::path& path);

// Standard output or a file. The file is replaced as a whole, by renaming; anything but a regular file (a pipe, a
// device) is opened once and written as it is.
class Destination {
 public:
  explicit Destination(std::string file = {});  // Error unless it can be written; empty: standard output

  bool is_file() const { return !path_.empty(); }
  TextStyle style() const;                  // of the terminal; of a file without width
  void write(std::string_view text) const;  // OutputLost
  // The file appears when `produce` has returned, and not at all if it throws.
  void write(const std::function<void(const TextSink&)>& produce) const;

 private:
  std::string path_;
  std::string target_;  // the file that links lead to, so that links stay
  Descriptor special_;  // of anything but a regular file
};

// A file that grows: what was written stays, whatever happens next.
class GrowingFile {
 public:
  explicit GrowingFile(std::string path);  // Error unless it can be written
  void append(std::string_view text);  // on the disk when it returns; the first text empties an old file. OutputLost

 private:
  std::string path_;
  bool is_special_ = false;
  Descriptor descriptor_;
  bool begun_ = false;
};

}  // namespace laptime
