// Races the kernels of each undecided signature.
#include "measure/kernel_trial.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "exec/race.h"
#include "exec/trial.h"

namespace laptime {
namespace {

struct Contest {
  Signature signature;
  IndexSet absent;  // outputs that the step does not read
  std::string key;
  std::vector<const Kernel*> kernels;  // at least two
  int64_t bytes = 0;                   // memory of the largest trial
};

IndexSet absent_outputs(const PlanStep& step) {
  IndexSet absent;
  for (size_t i = 0; i < step.out.size(); ++i) {
    if (step.out[i].buffer < 0) absent.insert(static_cast<int>(i));
  }
  return absent;
}

// The distinct signatures of the plan with several kernels and no choice yet.
std::vector<Contest> open_contests(const Prepared& prepared) {
  const KernelChoices& choices = prepared.choices;
  std::vector<Contest> contests;
  std::set<std::string> seen;
  const auto add = [&](const PlanStep& step) {
    Contest contest{step.signature(), absent_outputs(step), {}, {}};
    contest.key = contest.signature.text();
    if (choices.pinned.contains(contest.key) || !seen.insert(contest.key).second) return;
    const std::vector<const Kernel*> supported = candidates(*prepared.device.kernels, contest.signature, choices.rules);
    if (measured_kernel(choices, contest.key, supported) != nullptr) return;
    for (const Kernel* kernel : supported) {
      const int64_t bytes = Trial::bytes(contest.signature, contest.absent, *kernel);
      if (kernel->name == kReferenceName || prepared.bound.held(bytes) > prepared.bound.bytes) continue;
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

// Kernels that were far slower than the winner in each of their first races. They are left out of later races.
class HopelessKernels {
 public:
  void add(const std::vector<const Kernel*>& kernels, const RaceResult& result) {
    for (size_t i = 0; i < kernels.size(); ++i) {
      Races& races = races_[kernels[i]];
      ++races.count;
      if (result.shortest[i] > kFarBehindFactor * result.seconds) ++races.far_behind;
    }
  }
  bool contains(const Kernel* kernel) const {
    const auto found = races_.find(kernel);
    return found != races_.end() && found->second.count >= kMinRaces && found->second.far_behind == found->second.count;
  }

 private:
  static constexpr double kFarBehindFactor = 1.25;
  static constexpr int kMinRaces = 2;
  struct Races {
    int count = 0, far_behind = 0;
  };
  std::map<const Kernel*, Races> races_;
};

// A race of some kernels. Which kernel wins may change from race to race, and with it the bits of the loss unless the
// kernels give the same ones; so a kernel whose bits are its own needs a clear lead over those that share theirs.
class Race {
 public:
  Race(Trial& trial, const std::vector<const Kernel*>& kernels) : kernels_(kernels) {
    for (const Kernel* kernel : kernels) trial.prepare(*kernel);
    result = race(kernels.size(), [&](size_t candidate) { return trial.time(*kernels[candidate]); });
  }

  // The kernel to take and, where its bits are its own and others share theirs, the fastest of those others.
  std::vector<const Kernel*> finalists() const {
    const auto shares_bits = [&](size_t candidate) { return kernels_[candidate]->reproducible; };
    const size_t taken = clear_winner(result, shares_bits);
    std::vector<const Kernel*> finalists{kernels_[taken]};
    if (shares_bits(taken)) return finalists;
    if (const auto other = fastest_of(result, shares_bits)) finalists.push_back(kernels_[*other]);
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

std::vector<KernelChoice> try_kernels(const Prepared& prepared, Backend& backend) {
  std::vector<Contest> contests = open_contests(prepared);
  if (contests.empty()) return {};
  int64_t bytes = 0;
  for (const Contest& contest : contests) bytes = std::max(bytes, contest.bytes);
  const std::unique_ptr<DeviceMemory> memory = backend.allocate(bytes);  // shared by all contests
  std::vector<KernelChoice> learned;
  HopelessKernels hopeless;
  for (Contest& contest : contests) {
    Trial trial(backend, contest.signature, contest.absent, *memory);
    std::vector<const Kernel*> kernels = contest.kernels;
    std::erase_if(kernels, [&](const Kernel* kernel) { return hopeless.contains(kernel); });
    if (!kernels.empty()) contest.kernels = kernels;
    const Race first(trial, contest.kernels);
    hopeless.add(contest.kernels, first.result);
    contest.kernels = first.finalists();
    learned.push_back({{}, contest.key, contest.kernels.front()->name, first.seconds_of(*contest.kernels.front()), {}});
  }
  // A second race, after all first ones, for the kernels whose bits are their own.
  for (size_t i = 0; i < contests.size(); ++i) {
    const std::vector<const Kernel*>& kernels = contests[i].kernels;
    if (kernels.size() < 2) continue;
    Trial trial(backend, contests[i].signature, contests[i].absent, *memory);
    const Race second(trial, kernels);
    const Kernel* const taken = second.finalists().front();
    learned[i].kernel = taken->name;
    learned[i].seconds = second.seconds_of(*taken);
  }
  return learned;
}

}  // namespace laptime
