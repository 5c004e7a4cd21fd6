// LineInput: reads a descriptor line by line until the input ends or a signal asks to stop.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "sweep/stop_signals.h"

namespace laptime {

class LineInput {
 public:
  struct Line {
    std::string text;         // without the line break
    bool is_complete = true;  // false: the input ended before the break
  };

  // A line longer than `most_bytes` may be cut to most_bytes + 1 bytes, so the caller can detect it by its length.
  LineInput(int descriptor, StopSignals& signals, size_t most_bytes)
      : descriptor_(descriptor), signals_(signals), most_bytes_(most_bytes) {}

  // Waits for the next line. Returns none when the input has ended or a signal has arrived.
  std::optional<Line> next();
  bool is_stopped() const { return is_stopped_; }     // a signal has arrived
  bool has_more() const { return !unread_.empty(); }  // true if next() has not returned all bytes read so far

 private:
  // Waits for input or a signal. Returns false at the end of the input, and after a signal.
  bool read_more();

  int descriptor_;  // -1 after the end of the input
  StopSignals& signals_;
  size_t most_bytes_;
  std::string unread_;
  bool is_stopped_ = false;
};

}  // namespace laptime
