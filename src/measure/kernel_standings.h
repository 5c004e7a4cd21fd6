// How kernels performed in the races of their ops: KernelStandings decides close races, HopelessKernels excludes
// losers.
#pragma once

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "backend/kernel.h"
#include "exec/race.h"

namespace laptime {

// Decides races that were too close to call, using all races of the op.
class KernelStandings {
 public:
  void add(const std::vector<const Kernel*>& kernels, const RaceResult& result) {
    for (size_t i = 0; i < kernels.size(); ++i) {
      Standing& standing = standings_[kernels[i]];
      standing.own += result.shortest[i];
      standing.winners += result.seconds;
    }
  }

  // The kernel with the least time in its races, relative to the winners; null if none of `kernels` raced. Long races
  // weigh more, because noise is a smaller part of their times.
  const Kernel* best_of(std::span<const Kernel* const> kernels) const {
    const Kernel* best = nullptr;
    for (const Kernel* kernel : kernels) {
      if (standings_.contains(kernel) && (best == nullptr || ratio_of(kernel) < ratio_of(best))) best = kernel;
    }
    return best;
  }
  // Like best_of, but a kernel that is not reproducible must clearly beat the reproducible ones.
  const Kernel* clear_best_of(std::span<const Kernel* const> kernels) const {
    const Kernel* const best = best_of(kernels);
    if (best == nullptr || best->reproducible) return best;
    std::vector<const Kernel*> sharing;
    std::copy_if(kernels.begin(), kernels.end(), std::back_inserter(sharing),
                 [](const Kernel* kernel) { return kernel->reproducible; });
    const Kernel* const other = best_of(sharing);
    return other != nullptr && ratio_of(other) < kClearLead * ratio_of(best) ? other : best;
  }

 private:
  struct Standing {
    Seconds own{}, winners{};  // shortest runs of the kernel and of the winners, summed over the kernel's races
  };
  double ratio_of(const Kernel* kernel) const {
    const Standing& standing = standings_.at(kernel);
    return standing.own / standing.winners;
  }

  std::map<const Kernel*, Standing> standings_;
};

// Kernels that have clearly lost all their races. They are left out of later races with up to kReach times the work. A
// kernel from an optional library is never left out, because it runs a different library algorithm for each shape.
class HopelessKernels {
 public:
  void add(const std::vector<const Kernel*>& kernels, double flops, const RaceResult& result) {
    for (size_t i = 0; i < kernels.size(); ++i) {
      if (kernels[i]->library != nullptr) continue;
      Races& races = races_[kernels[i]];
      ++races.count;
      races.closest = std::min(races.closest, result.shortest[i] / result.seconds);
      races.flops = flops;
    }
  }
  // Removes hopeless kernels from a contest of `flops`, unless all are hopeless. A kernel stays hopeless for up to
  // kReach times the work of its latest contest, even if it was removed from that contest.
  void remove_from(std::vector<const Kernel*>& kernels, double flops) {
    std::vector<const Kernel*> left;
    for (const Kernel* kernel : kernels) {
      const auto found = races_.find(kernel);
      if (found == races_.end() || !found->second.hopeless() || flops > kReach * found->second.flops) {
        left.push_back(kernel);
      } else {
        found->second.flops = flops;
      }
    }
    if (!left.empty()) kernels = std::move(left);
  }

 private:
  static constexpr double kReach = 16;
  struct Races {
    int count = 0;
    double closest = std::numeric_limits<double>::infinity();  // smallest ratio of the kernel's time to the winner's
    double flops = 0;                                          // work of the latest contest

    // The more races a kernel has lost, the smaller the margin required.
    bool hopeless() const { return (count >= 2 && closest > 1.25) || (count >= 4 && closest > kClearLead); }
  };
  std::map<const Kernel*, Races> races_;
};

}  // namespace laptime
