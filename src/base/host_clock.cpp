// Measures the resolution and read cost of std::chrono::steady_clock, and times a loop of dependent additions.
#include "base/host_clock.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <limits>

namespace laptime {
namespace {

constexpr int64_t kAdditionBlocks = 1 << 14;
constexpr int64_t kAdditionsPerBlock = 16;

// Adds a register, because recent cores eliminate additions of immediates during register renaming. The loop counter
// runs in parallel with the chain and costs no time.
uint64_t run_chain(int64_t blocks) {
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

Seconds host_now() { return std::chrono::steady_clock::now().time_since_epoch(); }

ClockQuality measure_host_clock() {
  constexpr int kReadings = 256;
  std::array<double, 64> overheads{};
  double resolution = 1;
  for (double& overhead : overheads) {
    const Seconds begin = host_now();
    Seconds last = begin;
    for (int i = 0; i < kReadings; ++i) {
      const Seconds reading = host_now();
      if (reading > last) resolution = std::min(resolution, (reading - last).count());
      last = reading;
    }
    overhead = (last - begin).count() / kReadings;
  }
  const auto middle = overheads.begin() + overheads.size() / 2;
  std::nth_element(overheads.begin(), middle, overheads.end());
  return {Seconds(resolution), Seconds(*middle)};
}

std::optional<double> measure_clock_hz(const std::function<Seconds()>& now) {
  constexpr int kRounds = 40;
  Seconds fastest(std::numeric_limits<double>::infinity());
  for (int round = 0; round < kRounds; ++round) {
    const Seconds begin = now();
    run_chain(kAdditionBlocks);
    fastest = std::min(fastest, now() - begin);
  }
  if (fastest <= Seconds(0)) return std::nullopt;
  return static_cast<double>(kAdditionBlocks * kAdditionsPerBlock) / fastest.count();
}

}  // namespace laptime
