// LAPTIME_ISA: the namespace of code that is compiled once per instruction set, and the suffix of its kernels' names.
#pragma once

#include <string>

// The build defines LAPTIME_ISA (cmake/op_files.cmake). The default is for tools that parse a single file.
#ifndef LAPTIME_ISA
#define LAPTIME_ISA plain
#endif

#define LAPTIME_ISA_QUOTE(isa) #isa
#define LAPTIME_ISA_NAME(isa) LAPTIME_ISA_QUOTE(isa)

namespace laptime::LAPTIME_ISA {

// Returns "strips_avx512" for "strips" if LAPTIME_ISA is avx512.
inline std::string isa_name(const char* kernel) { return std::string(kernel) + "_" LAPTIME_ISA_NAME(LAPTIME_ISA); }

}  // namespace laptime::LAPTIME_ISA
