// LapTimer: times successive parts of the set-up on the clock of the device.
#pragma once

#include "backend/backend.h"

namespace laptime {

class LapTimer {
 public:
  explicit LapTimer(Backend& backend) : backend_(backend), last_(backend.now()) {}

  // Seconds since the last call, or since construction.
  double next() {
    const Seconds now = backend_.now();
    const double seconds = (now - last_).count();
    last_ = now;
    return seconds;
  }

 private:
  Backend& backend_;
  Seconds last_;
};

}  // namespace laptime
