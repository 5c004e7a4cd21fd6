// The loop of dependent additions.
#include "record/clock_speed.h"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace laptime {
namespace {

constexpr int64_t kBlocks = 1 << 14;
constexpr int64_t kAdditionsPerBlock = 16;

// Adds registers to each other: an immediate operand would not do, recent cores fold it away while renaming. The loop's
// own counter runs beside the chain and costs no time.
uint64_t add_in_a_chain(int64_t blocks) {
  uint64_t sum = 1;
  uint64_t term = 3;
  for (int64_t i = 0; i < blocks; ++i) {
    asm volatile(
        "add %1, %0\n\tadd %1, %0\n\tadd %1, %0\n\tadd %1, %0\n\t"
        "add %1, %0\n\tadd %1, %0\n\tadd %1, %0\n\tadd %1, %0\n\t"
        "add %1, %0\n\tadd %1, %0\n\tadd %1, %0\n\tadd %1, %0\n\t"
        "add %1, %0\n\tadd %1, %0\n\tadd %1, %0\n\tadd %1, %0\n\t"
        : "+r"(sum)
        : "r"(term)
        : "cc");
  }
  return sum;
}

}  // namespace

std::optional<double> measure_clock_hz(const std::function<Seconds()>& now) {
  constexpr int kRounds = 40;
  Seconds fastest(std::numeric_limits<double>::infinity());
  for (int round = 0; round < kRounds; ++round) {
    const Seconds begin = now();
    add_in_a_chain(kBlocks);
    fastest = std::min(fastest, now() - begin);
  }
  if (fastest <= Seconds(0)) return std::nullopt;
  return static_cast<double>(kBlocks * kAdditionsPerBlock) / fastest.count();
}

}  // namespace laptime
