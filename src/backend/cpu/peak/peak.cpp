// Times the loops that measure peak rates.
#include "backend/cpu/peak/peak.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <limits>

#include "backend/cpu/gemm/bfloat16_pairs.h"
#include "backend/cpu/peak/peak_loops.h"
#include "base/cores.h"
#include "base/error.h"
#include "base/host_clock.h"

namespace laptime::cpu {
namespace {

constexpr Seconds kBudget{0.075};  // measuring time for each thread count

PeakLoops loops_for(Isa isa) {
#define LAPTIME_ISA_ROW(name) \
  if (name_of(isa) == #name) return name::peak_loops();
#include <isas.inc>
#undef LAPTIME_ISA_ROW
  LAPTIME_CHECK(false, "no loops are compiled for {}", name_of(isa));
  return {};
}

// Work is distributed in pieces of about 0.1 ms, so that a thread that starts late barely delays the others.
constexpr Seconds kPiece{1e-4};

// Returns the number of repetitions of a loop that take about kPiece.
int64_t repetitions_of(PeakLoop loop) {
  constexpr int64_t kProbe = 1'000;
  float value = 0.5F;
  loop(kProbe, &value);
  const Seconds begin = host_now();
  loop(kProbe, &value);
  const double probe = std::max((host_now() - begin).count(), 1e-9);
  return std::max<int64_t>(1, static_cast<int64_t>(kProbe * kPiece.count() / probe));
}

// CPU time of all threads of the process so far.
Seconds process_time() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return Seconds{static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec)};
}

struct Rate {
  double flops = 0;  // per second
  double cores = 0;  // cores that the process used, on average
};

// Measures the rate of `threads` threads of the team, which run `pieces` pieces per thread.
Rate rate(Team& team, int threads, PeakLoop loop, int64_t repetitions, int64_t pieces) {
  std::atomic<double> flops{0};
  const auto piece = [&](int64_t) {
    float value = 0.5F;
    flops.fetch_add(loop(repetitions, &value), std::memory_order_relaxed);
  };
  const Seconds used = process_time();
  const Seconds begin = host_now();
  if (threads == 1) {
    for (int64_t i = 0; i < pieces; ++i) piece(i);
  } else {
    team.parallel_for(pieces * threads, piece);
  }
  const Seconds wall = host_now() - begin;
  return {flops.load() / wall.count(), (process_time() - used) / wall};
}

// The highest FLOP/s and the largest number of cores over repeated runs of about 2 ms.
Rate best_rate(Team& team, int threads, PeakLoop loop) {
  constexpr int64_t kPieces = 20;
  const int64_t repetitions = repetitions_of(loop);
  Rate best;
  const Seconds stop = host_now() + kBudget;
  do {
    const Rate run = rate(team, threads, loop, repetitions, kPieces);
    best = {std::max(best.flops, run.flops), std::max(best.cores, run.cores)};
  } while (host_now() < stop);
  return best;
}

// N threads that can run at once should together reach about N times the rate of one. If they reach far less, they may
// have shared cores with other programs, or run as SMT siblings, and the peak is measured again. CPU time shows whether
// each thread had its own core.
ComputePeak measure(Team& team, PeakLoop loop) {
  if (loop == nullptr) return {};
  constexpr double kTogether = 0.75;  // minimum rate of all threads, as a fraction of `running` times one_core
  constexpr double kHadCores = 0.95;  // minimum number of cores in use, as a fraction of `running`
  constexpr int kMostRuns = 5;
  ComputePeak peak;
  peak.one_core = peak.all_threads = best_rate(team, 1, loop).flops;
  if (team.size() == 1) return peak;
  const auto running = static_cast<double>(concurrent_threads(team));
  double cores = 0;
  for (int run = 0; run < kMostRuns; ++run) {
    const Rate best = best_rate(team, team.size(), loop);
    peak.all_threads = std::max(peak.all_threads, best.flops);
    cores = std::max(cores, best.cores);
    peak.ran_together = peak.all_threads > kTogether * peak.one_core * running;
    if (peak.ran_together) return peak;
  }
  peak.ran_together = cores > kHadCores * running;
  return peak;
}

}  // namespace

int concurrent_threads(const Team& team) {
  const auto cores = static_cast<int>(allowed_cores().size());
  return cores == 0 ? team.size() : std::min(team.size(), cores);
}

ComputePeak measure_float32_peak(Team& team, Isa isa) { return measure(team, loops_for(isa).float32); }

ComputePeak measure_bfloat16_peak(Team& team) {
  const Bfloat16Pairs* pairs = bfloat16_pairs();
  if (pairs == nullptr) return {};
  const ComputePeak dot = measure(team, pairs->peak_loop);
  const ComputePeak tiles = measure(team, pairs->amx_peak_loop);
  return dot.all_threads > tiles.all_threads ? dot : tiles;
}

ComputePeak measure_split_float32_peak(Team& team) {
  const Bfloat16Pairs* pairs = bfloat16_pairs();
  if (pairs == nullptr) return {};
  const ComputePeak tiles = measure(team, pairs->amx_peak_loop);
  return {tiles.one_core / kSplitProducts, tiles.all_threads / kSplitProducts, tiles.ran_together};
}

double sustained_rate(Team& team, Isa isa, bool bfloat16, Seconds time) {
  const Bfloat16Pairs* pairs = bfloat16 ? bfloat16_pairs() : nullptr;
  double fastest = 0;
  for (const PeakLoop loop : {loops_for(isa).float32, pairs == nullptr ? nullptr : pairs->peak_loop,
                              pairs == nullptr ? nullptr : pairs->amx_peak_loop}) {
    if (loop == nullptr) continue;
    fastest = std::max(fastest, rate(team, team.size(), loop, repetitions_of(loop),
                                     std::max<int64_t>(1, static_cast<int64_t>(time / kPiece)))
                                    .flops);
  }
  return fastest;
}

double measure_bandwidth(Team& team, Isa isa, const AvailableMemory& available) {
  constexpr int64_t kParameterBytes = 4 * sizeof(float);
  constexpr int64_t kFewestBytes = int64_t{192} << 20;
  constexpr int64_t kGrain = int64_t{64} << 10;
  constexpr Seconds kTakes{0.3};
  // If the kernel does not list the caches, the C library may know the size of the L3 cache.
  const int64_t wanted = 2 * cache_bytes(team.size()).value_or(sysconf(_SC_LEVEL3_CACHE_SIZE));
  const int64_t bytes = std::max(kFewestBytes, std::min(wanted, available.bytes.value_or(4 * wanted) / 4));
  // Checked first, because the system would grant the memory and kill the process at the limit of its control group.
  if (!available.holds(bytes)) throw OutOfMemory(bytes, available.bytes);
  const int64_t parameters = bytes / kParameterBytes / kGrain * kGrain;
  const PeakLoops loops = loops_for(isa);
  const Pages pages(parameters * kParameterBytes);
  auto* const w = reinterpret_cast<float*>(pages.data());
  team.parallel_blocks(4 * parameters, kGrain,
                       [&](int64_t begin, int64_t end) { std::fill(w + begin, w + end, 0.5F); });
  Seconds best(std::numeric_limits<double>::infinity());
  const Seconds stop = host_now() + kTakes;
  do {
    const Seconds begin = host_now();
    team.parallel_blocks(parameters, kGrain, [&](int64_t first, int64_t end) {
      loops.stream(w + first, w + parameters + first, w + 2 * parameters + first, w + 3 * parameters + first,
                   end - first);
    });
    best = std::min(best, host_now() - begin);
  } while (host_now() < stop);
  return 7.0 * static_cast<double>(parameters) * static_cast<double>(sizeof(float)) / best.count();
}

}  // namespace laptime::cpu
