// Races the kernels of each undecided signature.
#include "measure/kernel_trial.h"

#include <algorithm>
#include <exception>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "base/error.h"
#include "exec/race.h"
#include "exec/trial.h"
#include "measure/kernel_standings.h"

namespace laptime {
namespace {

// Budgets for first races. The budget is larger on a device with its own clock: races are short there, but libraries
// load code for each kernel, and the winner for one shape says nothing about another.
constexpr Seconds kTrialBudget{0.12}, kDeviceTrialBudget{5};
constexpr Seconds kLongRun{0.5};
// The most FLOPs per thread in a raced launch, about 10 ms with AVX-512. For longer launches, the race uses a smaller
// batch: a kernel that is faster for one sequence is faster for several.
constexpr double kRaceFlops = 1e9;
constexpr double kBeyondNoise = 1.5;  // a lead that noise cannot reverse

struct Contest {
  Signature signature;                 // may have a smaller batch than the step's
  IndexSet absent;                     // outputs that the step does not read
  std::string key;                     // the step's signature
  std::vector<const Kernel*> kernels;  // the candidates, at least two
  int64_t bytes = 0;                   // memory of the largest trial
  double flops = 0;
};

IndexSet absent_outputs(const PlanStep& step) {
  IndexSet absent;
  for (size_t i = 0; i < step.out.size(); ++i) {
    if (step.out[i].buffer < 0) absent.insert(static_cast<int>(i));
  }
  return absent;
}

// The signature on which the kernels race; has a smaller batch if the launch is long and all kernels support it.
Signature race_signature(const Signature& signature, std::span<const Kernel* const> kernels, int threads) {
  Signature smaller = with_smaller_batch(signature, kRaceFlops * threads);
  const auto supports = [&](const Kernel* kernel) { return kernel->refusal(smaller).empty(); };
  return std::all_of(kernels.begin(), kernels.end(), supports) ? smaller : signature;
}

// The distinct signatures in the plan that have several kernels and no choice yet.
std::vector<Contest> open_contests(const Prepared& prepared, const Backend& backend) {
  const KernelChoices& choices = prepared.choices;
  std::vector<Contest> contests;
  std::set<std::string> seen;
  const auto add = [&](const PlanStep& step) {
    const Signature signature = step.signature();
    Contest contest{signature, absent_outputs(step), signature.text(), {}};
    if (choices.pinned.contains(contest.key) || !seen.insert(contest.key).second) return;
    const std::vector<const Kernel*> supported = candidates(*prepared.device.kernels, signature, choices.rules);
    if (measured_kernel(choices, contest.key, supported) != nullptr) return;
    if (!backend.has_own_clock())
      contest.signature = race_signature(signature, supported, prepared.device.threads.value_or(1));
    contest.flops = flops_of(contest.signature);
    for (const Kernel* kernel : supported) {
      const int64_t bytes = Trial::bytes(contest.signature, contest.absent, *kernel);
      if (kernel->name == kReferenceName || !prepared.bound.fits(prepared.bound.held(bytes))) continue;
      contest.kernels.push_back(kernel);
      contest.bytes = std::max(contest.bytes, bytes);
    }
    if (contest.kernels.size() > 1) contests.push_back(std::move(contest));
  };
  for (const auto* steps : {&prepared.plan.setup, &prepared.plan.steps}) {
    for (const PlanStep& step : *steps) add(step);
  }
  return contests;
}

// Prepares a kernel, and warms it up unless `trial` is null. Returns the error of the kernel's library if the library
// cannot run the signature on this device. Only the library knows this, and it may refuse as late as at a launch.
std::exception_ptr refusal_of(const Kernel& kernel, const Signature& signature, Backend& backend, Trial* trial) try {
  backend.prepare(kernel, signature);
  if (trial != nullptr) trial->warm_up(kernel);
  return nullptr;
} catch (const OutOfMemory&) {
  throw;
} catch (const Error&) {
  if (kernel.library == nullptr) throw;
  return std::current_exception();
}

// Prepares the kernels and removes those that their libraries refuse. If none remains, throws the last refusal.
void prepare(Contest& contest, Backend& backend, Trial& trial) {
  std::exception_ptr refused;
  std::erase_if(contest.kernels, [&](const Kernel* kernel) {
    const std::exception_ptr refusal = refusal_of(*kernel, contest.signature, backend, &trial);
    if (refusal) refused = refusal;
    return refusal != nullptr;
  });
  if (contest.kernels.empty()) std::rethrow_exception(refused);
}

// A race between kernels. The winner may differ from race to race, and with it the last bits of the loss. A kernel that
// is not reproducible must therefore clearly beat the reproducible ones, whose results are bit-identical.
class Race {
 public:
  Race(Trial& trial, std::vector<const Kernel*> kernels) : kernels_(std::move(kernels)) {
    result = race(kernels_.size(), [&](size_t candidate) { return trial.time(*kernels_[candidate]); });
  }

  // Returns the kernel to choose. If that kernel is not reproducible, also returns the fastest reproducible kernel,
  // unless it is too slow to win another race. If the winner's lead may be noise, `standings` chooses among the kernels
  // that are tied with the winner: only reproducible kernels if the winner is reproducible, otherwise only the others.
  // Library kernels take no part in this choice: they run a different algorithm for each shape, so races for other
  // shapes say nothing about them.
  std::vector<const Kernel*> finalists(const KernelStandings& standings) const {
    const auto shares_bits = [&](size_t candidate) { return kernels_[candidate]->reproducible; };
    const size_t taken = clear_winner(result, shares_bits);
    const auto is_of_same_kind = [&](size_t candidate) {
      return shares_bits(candidate) == shares_bits(taken) && kernels_[candidate]->library == nullptr;
    };
    std::vector<const Kernel*> finalists{kernels_[taken]};
    if (finalists.front()->library == nullptr) {
      std::vector<const Kernel*> tied;
      for (const size_t candidate : tied_with(result, taken, is_of_same_kind)) tied.push_back(kernels_[candidate]);
      if (const Kernel* const best = standings.best_of(tied)) finalists.front() = best;
    }
    if (shares_bits(taken)) return finalists;
    const std::optional<size_t> other = fastest_of(result, shares_bits);
    if (other && result.shortest[*other] < kBeyondNoise * result.shortest[taken]) finalists.push_back(kernels_[*other]);
    return finalists;
  }

  double seconds_of(const Kernel& kernel) const {
    const auto found = std::find(kernels_.begin(), kernels_.end(), &kernel);
    return result.shortest[static_cast<size_t>(found - kernels_.begin())].count();
  }

  RaceResult result;

 private:
  std::vector<const Kernel*> kernels_;
};

}  // namespace

void TriedKernels::add_to(std::vector<KernelChoice>& choices) const {
  choices.insert(choices.end(), raced.begin(), raced.end());
  choices.insert(choices.end(), assumed.begin(), assumed.end());
}

TriedKernels try_kernels(const Prepared& prepared, Backend& backend) {
  std::vector<Contest> contests = open_contests(prepared, backend);
  if (contests.empty()) return {};
  int64_t bytes = 0;
  for (const Contest& contest : contests) bytes = std::max(bytes, contest.bytes);
  const std::unique_ptr<DeviceMemory> memory = backend.allocate(bytes);  // shared by all contests
  TriedKernels tried;
  HopelessKernels hopeless;
  KernelStandings standings;
  // Smallest contests first, so that slow kernels are excluded where they cost least.
  std::stable_sort(contests.begin(), contests.end(),
                   [](const Contest& a, const Contest& b) { return a.flops < b.flops; });
  const Seconds begin = backend.now();
  const Seconds budget = backend.has_own_clock() ? kDeviceTrialBudget : kTrialBudget;
  const auto assumed = [&](const Contest& contest) {
    return backend.now() - begin < budget ? nullptr : standings.clear_best_of(contest.kernels);
  };
  struct Raced {
    Contest* contest;
    Race race;
  };
  std::vector<Raced> raced;
  for (Contest& contest : contests) {
    if (const Kernel* const kernel = assumed(contest);
        kernel != nullptr && refusal_of(*kernel, contest.signature, backend, nullptr) == nullptr) {
      tried.assumed.push_back({{}, contest.key, kernel->name, 0, {}});
      continue;
    }
    Trial trial(backend, contest.signature, contest.absent, *memory);
    hopeless.remove_from(contest.kernels, contest.flops);
    prepare(contest, backend, trial);
    Race first(trial, contest.kernels);
    hopeless.add(contest.kernels, contest.flops, first.result);
    standings.add(contest.kernels, first.result);
    raced.push_back({&contest, std::move(first)});
  }
  // A second race, after all first races, between reproducible kernels and others. Long runs need no second race,
  // because noise is a small part of them.
  for (const auto& [contest, first] : raced) {
    const std::vector<const Kernel*> finalists = first.finalists(standings);
    const Kernel* taken = finalists.front();
    double seconds = first.seconds_of(*taken);
    if (finalists.size() > 1 && seconds <= kLongRun.count()) {
      Trial trial(backend, contest->signature, contest->absent, *memory);
      const Race second(trial, finalists);
      taken = second.finalists(standings).front();
      seconds = second.seconds_of(*taken);
    }
    tried.raced.push_back({{}, contest->key, taken->name, seconds, {}});
  }
  return tried;
}

}  // namespace laptime
