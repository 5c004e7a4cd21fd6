// The loops whose speed is the peak, compiled once per instruction set.
#pragma once

#include <cstdint>

namespace laptime::cpu {

// Repeats multiply-adds on registers, starting from `value` (0 to 1), and stores what becomes of it; returns the FLOPs.
using PeakLoop = double (*)(int64_t repetitions, float* value);

struct PeakLoops {
  PeakLoop float32;
  // One pass over `count` parameters: w, m and v are updated from g.
  void (*stream)(float* w, const float* g, float* m, float* v, int64_t count);
};

}  // namespace laptime::cpu

// Of each instruction set.
#define LAPTIME_ISA_ROW(isa)   \
  namespace laptime::isa {     \
  cpu::PeakLoops peak_loops(); \
  }
#include <isas.inc>
#undef LAPTIME_ISA_ROW
