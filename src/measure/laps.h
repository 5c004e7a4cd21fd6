// Laps: seconds between one part of a set-up and the next, on the device's clock.
#pragma once

#include "backend/backend.h"

namespace laptime {

class Laps {
 public:
  explicit Laps(Backend& backend) : backend_(backend), last_(backend.now()) {}

  // Seconds since the last call, or since the beginning.
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
