// FillLoops: elements of a stream as float32, compiled once per instruction set, with the same bits from each.
#pragma once

#include <cstdint>

#include "base/isa.h"

namespace laptime {

// A normal distribution, perhaps cut.
struct NormalShape {
  float below;  // probability that is cut off at each end
  float limit;  // the largest magnitude in units of std
  float std;
};

// Each writes elements [begin, begin + count) of the stream whose element i is splitmix64(key + i).
struct FillLoops {
  // center + (2u - 2^24) 2^-24 amplitude with u the top 24 bits; the product is rounded once, the sum once more.
  void (*uniform)(uint64_t key, int64_t begin, float* out, int64_t count, float amplitude, float center);
  // By inversion, from the top 32 bits.
  void (*normal)(uint64_t key, int64_t begin, float* out, int64_t count, NormalShape shape);
};

// Those of an instruction set that is compiled in and that this machine runs; of the widest one.
FillLoops fill_loops_of(cpu::Isa isa);
const FillLoops& fill_loops();

#define LAPTIME_ISA_ROW(isa) \
  namespace isa {            \
  FillLoops fill_loops();    \
  }
#include <isas.inc>
#undef LAPTIME_ISA_ROW

}  // namespace laptime
