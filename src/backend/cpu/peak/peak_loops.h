// The loops that measure the highest rates of a core, compiled once per instruction set.
#pragma once

#include <cstdint>

namespace laptime::cpu {

// Repeats multiply-adds on registers, starting from `*value` in [0, 1]. Stores a result in `*value` and returns the
// FLOPs.
using PeakLoop = double (*)(int64_t repetitions, float* value);

struct PeakLoops {
  PeakLoop float32;
  // Makes one pass over `count` parameters, which updates w, m and v from g.
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
