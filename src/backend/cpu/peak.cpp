// Peak loops against the clock.
#include "backend/cpu/peak.h"

#include <algorithm>
#include <limits>

#include "backend/cpu/clock.h"
#include "backend/cpu/peak_loops.h"

namespace laptime::cpu {
namespace {

constexpr Seconds kBudget{0.075};  // for one number of threads

PeakLoops loops_for(Isa isa) {
#define LAPTIME_ISA_ROW(name) \
  if (name_of(isa) == #name) return name::peak_loops();
#include <isas.inc>
#undef LAPTIME_ISA_ROW
  return plain::peak_loops();
}

// FLOP/s of `threads` of the team, the best of repetitions of about 2 ms. Work is handed out in pieces of 0.1 ms, so
// that a thread that starts late costs little.
double best_rate(Team& team, int threads, double (*loop)(int64_t, float*)) {
  constexpr int64_t kRepetitions = 20'000;
  constexpr int64_t kPieces = 20;
  double best = 0;
  const Seconds stop = now() + kBudget;
  while (now() < stop) {
    std::atomic<double> flops{0};
    const auto piece = [&](int64_t) {
      float value = 0.5F;
      flops.fetch_add(loop(kRepetitions, &value), std::memory_order_relaxed);
    };
    const Seconds begin = now();
    if (threads == 1) {
      for (int64_t i = 0; i < kPieces; ++i) piece(i);
    } else {
      team.parallel_for(kPieces * threads, piece);
    }
    best = std::max(best, flops.load() / (now() - begin).count());
  }
  return best;
}

ComputePeak measure(Team& team, double (*loop)(int64_t, float*)) {
  if (loop == nullptr) return {};
  ComputePeak peak;
  peak.one_core = best_rate(team, 1, loop);
  peak.all_threads = team.size() == 1 ? peak.one_core : std::max(peak.one_core, best_rate(team, team.size(), loop));
  return peak;
}

}  // namespace

ComputePeak measure_float32_peak(Team& team, Isa isa) { return measure(team, loops_for(isa).float32); }
ComputePeak measure_bfloat16_peak(Team& team, Isa isa) { return measure(team, loops_for(isa).bfloat16); }

double measure_bandwidth(Team& team, Isa isa) {
  constexpr int64_t kParameters = int64_t{12} << 20;
  constexpr int64_t kGrain = int64_t{64} << 10;
  constexpr int kPasses = 10;
  const PeakLoops loops = loops_for(isa);
  const Pages pages(4 * kParameters * static_cast<int64_t>(sizeof(float)));
  auto* const w = reinterpret_cast<float*>(pages.data());
  team.parallel_blocks(4 * kParameters, kGrain,
                       [&](int64_t begin, int64_t end) { std::fill(w + begin, w + end, 0.5F); });
  Seconds best(std::numeric_limits<double>::infinity());
  for (int pass = 0; pass < kPasses; ++pass) {
    const Seconds begin = now();
    team.parallel_blocks(kParameters, kGrain, [&](int64_t first, int64_t end) {
      loops.stream(w + first, w + kParameters + first, w + 2 * kParameters + first, w + 3 * kParameters + first,
                   end - first);
    });
    best = std::min(best, now() - begin);
  }
  return 7.0 * static_cast<double>(kParameters) * static_cast<double>(sizeof(float)) / best.count();
}

}  // namespace laptime::cpu
