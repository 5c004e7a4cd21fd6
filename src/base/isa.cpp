// Detects instruction sets from cpuid and from the register state that the operating system saves (XCR0).
#include "base/isa.h"

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <initializer_list>

#include "base/error.h"

namespace laptime::cpu {
namespace {

struct Registers {
  uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};

// Returns zeros if the processor does not support the leaf.
Registers cpuid(uint32_t leaf, uint32_t subleaf) {
  Registers out;
  if (__get_cpuid_count(leaf, subleaf, &out.eax, &out.ebx, &out.ecx, &out.edx) == 0) return {};
  return out;
}

bool has(uint32_t word, std::initializer_list<unsigned> bits) {
  for (const unsigned bit : bits) {
    if (((word >> bit) & 1U) == 0) return false;
  }
  return true;
}

// The bits of the register states that the operating system saves at a context switch (XCR0).
uint64_t saved_states() {
  uint32_t low = 0;
  uint32_t high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (static_cast<uint64_t>(high) << 32U) | low;
}

}  // namespace

Isa detect_isa() {
  const Registers basic = cpuid(1, 0);
  const Registers extended = cpuid(7, 0);
  constexpr unsigned kFma = 12, kOsxsave = 27, kAvx = 28, kF16c = 29;
  if (!has(basic.ecx, {kOsxsave, kAvx, kFma, kF16c})) return Isa::kPlain;
  constexpr uint64_t kSse = 2, kYmm = 4, kMasksAndZmm = 0xE0;
  const uint64_t saved = saved_states();
  if ((saved & (kSse | kYmm)) != (kSse | kYmm)) return Isa::kPlain;

  constexpr unsigned kBmi = 3, kAvx2 = 5, kBmi2 = 8;
  if (!has(extended.ebx, {kBmi, kAvx2, kBmi2})) return Isa::kPlain;

  constexpr unsigned kF = 16, kDq = 17, kBw = 30, kVl = 31;
  if (!has(extended.ebx, {kF, kDq, kBw, kVl}) || (saved & kMasksAndZmm) != kMasksAndZmm) return Isa::kAvx2;
  return Isa::kAvx512;
}

std::vector<Isa> runnable_isas() {
  std::vector<Isa> isas;
  const auto add = [&](std::string_view name) {
    for (int isa = 0; isa <= static_cast<int>(detect_isa()); ++isa) {
      if (name_of(static_cast<Isa>(isa)) == name) isas.push_back(static_cast<Isa>(isa));
    }
  };
#define LAPTIME_ISA_ROW(isa) add(#isa);
#include <isas.inc>
#undef LAPTIME_ISA_ROW
  return isas;
}

Isa widest_isa() {
  const std::vector<Isa> isas = runnable_isas();
  if (isas.empty()) {
    throw Error::format(
        "this program was compiled for a newer processor: this machine supports at most {}; build laptime here, or "
        "for every processor with `./quickstart --build`",
        name_of(detect_isa()));
  }
  return isas.back();
}

bool may_use_bfloat16_pairs() {
  constexpr unsigned kBf16 = 5;
  return detect_isa() == Isa::kAvx512 && has(cpuid(7, 1).eax, {kBf16});
}

bool may_use_tiles() {
  constexpr unsigned kAmxBf16 = 22, kAmxTile = 24;
  if (!may_use_bfloat16_pairs() || !has(cpuid(7, 0).edx, {kAmxBf16, kAmxTile})) return false;
  constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

std::string_view name_of(Isa isa) {
  switch (isa) {
    case Isa::kPlain: return "plain";
    case Isa::kAvx2: return "avx2";
    case Isa::kAvx512: return "avx512";
  }
  return "?";
}

}  // namespace laptime::cpu
