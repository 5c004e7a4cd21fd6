// Vector work that is interleaved with AMX products, which leave most of the core idle.
#pragma once

#include <cstdint>

#include "backend/cpu/isa_namespace.h"

namespace laptime::LAPTIME_ISA::attention::pairs {

// Runs the units of `work`, spread evenly over `slots` calls to run_due(). Work::next() runs one unit and returns
// whether more units are left.
template <class Work>
class Interleaved {
 public:
  Interleaved(const Work& work, int64_t units, int64_t slots) : work_(work), units_(units), slots_(slots) {}

  void run_due() {
    for (due_ += units_; due_ >= slots_; due_ -= slots_) left_ = left_ && work_.next();
  }
  void run_rest() {
    while (left_) left_ = work_.next();
  }

 private:
  Work work_;
  int64_t units_, slots_;
  int64_t due_ = 0;  // units that are due, multiplied by slots_
  bool left_ = true;
};

struct NoWork {
  bool next() { return false; }
};
inline Interleaved<NoWork> no_work() { return {{}, 0, 1}; }

}  // namespace laptime::LAPTIME_ISA::attention::pairs
