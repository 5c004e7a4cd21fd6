// FillLoops: loops that write elements of a stream as float32. They are compiled once for each instruction set; all
// versions produce identical bits.
#pragma once

#include <cstdint>

#include "base/isa.h"

namespace laptime {

// A normal distribution, optionally truncated.
struct NormalShape {
  float below;  // probability cut off at each end
  float limit;  // largest magnitude, in units of std
  float std;
};

// Each function writes elements [begin, begin + count) of the stream whose element i is splitmix64(key + i).
struct FillLoops {
  // center + (2u - 2^24) 2^-24 amplitude, where u is the top 24 bits; the product and the sum are each rounded once.
  void (*uniform)(uint64_t key, int64_t begin, float* out, int64_t count, float amplitude, float center);
  // Normal values by inversion, from the top 32 bits.
  void (*normal)(uint64_t key, int64_t begin, float* out, int64_t count, NormalShape shape);
};

// fill_loops_of() returns the loops for an instruction set that is compiled in and runs on this machine; fill_loops()
// returns those for the widest such set.
FillLoops fill_loops_of(cpu::Isa isa);
const FillLoops& fill_loops();

#define LAPTIME_ISA_ROW(isa) \
  namespace isa {            \
  FillLoops fill_loops();    \
  }
#include <isas.inc>
#undef LAPTIME_ISA_ROW

}  // namespace laptime
