// The loops whose speed is the peak, compiled once per instruction set.
#pragma once

#include <cstdint>

namespace laptime::cpu {

struct PeakLoops {
  // Repeats multiply-adds on registers, starting from `value` (0 to 1), and stores what becomes of it; returns the
  // FLOPs.
  double (*float32)(int64_t repetitions, float* value);
  double (*bfloat16)(int64_t repetitions, float* value);  // vdpbf16ps; null where there is no such instruction
  // Products of tiles (AMX); null where there is no such instruction or the system does not lend its registers.
  double (*bfloat16_tiles)(int64_t repetitions, float* value);
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
