// Destinations of output: a standard stream, a file that appears whole or not at all, a file that grows.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace laptime {

// Output that could not be written: the reader has gone, or the disk is full. Records in the store are not lost.
class OutputLost : public Error {
 public:
  using Error::Error;
};

// Writes all of it now. OutputLost, naming `what`, otherwise.
void write_all(int descriptor, std::string_view text, std::string_view what);

// A file that is replaced as a whole, by renaming; anything but a regular file (a pipe, a device) is written as it is.
class WholeFile {
 public:
  // Error unless it can be written.
  explicit WholeFile(std::string path);
  void write(std::string_view text) const;  // OutputLost

 private:
  std::string path_;
  std::string target_;  // the file that links lead to, so that links stay
};

// A file that grows: what was written stays, whatever happens next.
class GrowingFile {
 public:
  explicit GrowingFile(std::string path);  // Error unless it can be written. An old one is emptied by the first text
  ~GrowingFile();
  GrowingFile(const GrowingFile&) = delete;
  GrowingFile& operator=(const GrowingFile&) = delete;

  void append(std::string_view text);  // on the disk when it returns. OutputLost

 private:
  std::string path_;
  int descriptor_ = -1;
  bool begun_ = false;
};

}  // namespace laptime
