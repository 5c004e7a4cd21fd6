// Isa: the instruction sets that kernels are compiled for, and the widest one this machine runs.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace laptime::cpu {

// In order of width; each includes the ones before it.
enum class Isa : uint8_t {
  kPlain,   // any x86-64
  kAvx2,    // avx2 fma f16c bmi bmi2
  kAvx512,  // and avx512 f bw vl dq
};

// The widest set that both the processor and the operating system support.
Isa detect_isa();

// The sets that kernels are compiled for (generated/isas.inc) and this machine runs, in order of width, and the last.
std::vector<Isa> runnable_isas();
Isa widest_isa();

// Whether this machine runs vdpbf16ps, sums of products of bfloat16 pairs (kAvx512 and avx512_bf16).
bool may_use_bfloat16_pairs();

// Whether products of bfloat16 tiles (AMX) may be used: the processor has them, and the system lends this process their
// registers, which it is asked for here.
bool may_use_tiles();

std::string_view name_of(Isa isa);  // "plain", "avx2", "avx512": the namespaces of the kernels

}  // namespace laptime::cpu
