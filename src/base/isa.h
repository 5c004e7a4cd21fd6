// Isa: the instruction sets for which kernels are compiled, and the widest one that this machine runs.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace laptime::cpu {

// In order of width; each set includes the previous ones.
enum class Isa : uint8_t {
  kPlain,   // any x86-64
  kAvx2,    // avx2 fma f16c bmi bmi2
  kAvx512,  // kAvx2, and also avx512f avx512bw avx512vl avx512dq
};

// The widest set that both the processor and the operating system support.
Isa detect_isa();

// The sets for which kernels are compiled (generated/isas.inc) and that this machine runs, in order of width.
std::vector<Isa> runnable_isas();
// The last of runnable_isas(). Throws Error if there is none, because the program was compiled for a newer processor.
Isa widest_isa();

// True if this machine supports vdpbf16ps, which sums products of bfloat16 pairs (kAvx512 and avx512_bf16).
bool may_use_bfloat16_pairs();

// True if products of bfloat16 tiles (AMX) may be used: the processor supports them and vdpbf16ps, for which the code
// around tile products is compiled, and the operating system lets this process use the tile registers. This function
// requests that permission.
bool may_use_tiles();

std::string_view name_of(Isa isa);  // "plain", "avx2", "avx512": also the namespaces of the kernels

}  // namespace laptime::cpu
