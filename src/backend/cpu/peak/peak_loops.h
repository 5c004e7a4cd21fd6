// The loops that measure the highest rates of a core, compiled once per instruction set.
#pragma once

#include <cstdint>

namespace laptime::cpu {

// Repeats multiply-adds on registers, starting from `value` in [0, 1], and stores a result there; returns the FLOPs.
using PeakLoop = double (*)(int64_t repetitions, float* value);

struct PeakLoops {
  PeakLoop float32;
  // One pass over `count` parameters: w, m and v are updated from g.
  void (*stream)(float* w, const float* g, float* m, float* v, int64_t count);
};

}  // namespace laptime::cpu

// The loops of each instruction set.
#define LAPTIME_ISA_ROW(isa)   \
  namespace laptime::isa {     \
  cpu::PeakLoops peak_loops(); \
  }
#include <isas.inc>
#undef LAPTIME_ISA_ROW
