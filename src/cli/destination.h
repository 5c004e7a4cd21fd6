// Output destinations: standard streams, messages, files that are replaced atomically, and files that grow.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/words.h"
#include "sweep/pipe.h"
#include "table/text.h"

namespace laptime {

// Thrown if output could not be written: the reader has closed the pipe or does not read, or the disk is full.
class OutputLost : public Error {
 public:
  using Error::Error;
};

// Thrown if the reader of standard output has closed the pipe, as `head` does once it has read enough.
class ReaderGone : public OutputLost {
 public:
  using OutputLost::OutputLost;
};

struct OutputStream {
  int descriptor = 0;
  bool is_terminal = false;  // a terminal that understands control codes
  bool unicode = false;      // whether the locale of the environment is UTF-8
  size_t width = 0;          // terminal columns, or the value of COLUMNS; 0: no limit

  TextStyle style() const { return {.unicode = unicode, .width = width}; }
};

OutputStream standard_output();
OutputStream standard_error();

std::string variable(const char* name);  // value of the environment variable; empty if it is not set

size_t help_width();  // the width of standard output, clamped to readable limits; 80 if unknown

// Writes all of the text now. Throws OutputLost, naming `what`, on failure; ReaderGone if standard output is a closed
// pipe.
void write_all(int descriptor, std::string_view text, std::string_view what);
void write_output(std::string_view text);  // to standard output

// Calls write(), and goes on if the reader of standard output has gone. For commands that do more than print: the rest
// of their work, and the exit code, must not depend on the reader.
void until_reader_goes(const auto& write) {
  try {
    write();
  } catch (const ReaderGone&) {
    return;
  }
}

// Prints a line "laptime: ..." on standard error, escaped for terminals; prints nothing if standard error is closed.
void print_message(const std::string& message);

// Writes text on a best-effort basis: a failed write is ignored.
void write_softly(int descriptor, std::string_view text);
void print_error_text(std::string_view text);  // writes to standard error, unmodified

// The absolute path after following links; the file itself need not exist.
std::filesystem::path followed(const std::filesystem::path& path);

// Whether an option that names an output file means standard output: it is empty or "-".
bool is_standard_output(std::string_view file);

// Standard output or a file. A regular file is replaced atomically by renaming; anything else (a pipe, a device) is
// opened once and written to directly.
class Destination {
 public:
  explicit Destination(std::string file = {});  // throws Error unless the file can be written

  bool is_file() const { return !path_.empty(); }
  std::string text() const { return is_file() ? quote(path_) : "standard output"; }  // for messages
  TextStyle style() const;                  // the terminal's style; for a file, a style without a width
  void write(std::string_view text) const;  // throws OutputLost
  // The file appears once `produce` has returned, and not at all if `produce` throws.
  void write(const std::function<void(const TextSink&)>& produce) const;

 private:
  std::string path_;    // empty: standard output
  std::string target_;  // the file after following links, so that links are kept
  Descriptor special_;  // open if the target is not a regular file
};

// A file that grows: text that has been written stays, whatever happens next.
class GrowingFile {
 public:
  explicit GrowingFile(std::string path);  // throws Error unless the file can be written
  // The text is on disk when append() returns. The first call empties an existing file. Throws OutputLost.
  void append(std::string_view text);

 private:
  std::string path_;
  bool is_special_ = false;
  Descriptor descriptor_;
  bool begun_ = false;
};

}  // namespace laptime
