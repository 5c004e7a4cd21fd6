// LineInput: a descriptor line by line, until it ends or a signal asks to stop.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "sweep/stop_signals.h"

namespace laptime {

class LineInput {
 public:
  struct Line {
    std::string text;         // without its break
    bool is_complete = true;  // false: the input ended before the break
  };

  // A line of more than `most_bytes` is cut there, which its reader can see by its length.
  LineInput(int descriptor, StopSignals& signals, size_t most_bytes)
      : descriptor_(descriptor), signals_(signals), most_bytes_(most_bytes) {}

  // Waits for the next line. None when the input has ended or a signal has arrived.
  std::optional<Line> next();
  bool is_stopped() const { return is_stopped_; }     // by a signal
  bool has_more() const { return !unread_.empty(); }  // has read more than it has handed over

 private:
  // Waits until there is input or a signal. False when no more is to come.
  bool read_more();

  int descriptor_;  // -1 at the end of the input
  StopSignals& signals_;
  size_t most_bytes_;
  std::string unread_;
  bool is_stopped_ = false;
};

}  // namespace laptime
