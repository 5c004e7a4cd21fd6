// KernelStandings: how kernels compare over all races of their op, to decide races that were too close.
#pragma once

#include <algorithm>
#include <iterator>
#include <map>
#include <span>
#include <vector>

#include "backend/kernel.h"
#include "exec/race.h"

namespace laptime {

class KernelStandings {
 public:
  void add(const std::vector<const Kernel*>& kernels, const RaceResult& result) {
    for (size_t i = 0; i < kernels.size(); ++i) {
      Standing& standing = standings_[kernels[i]];
      standing.own += result.shortest[i];
      standing.winners += result.seconds;
    }
  }

  // The kernel that took the least time in its races, relative to their winners; null if none of these raced. Long
  // races count more, because noise is a smaller part of them.
  const Kernel* best_of(std::span<const Kernel* const> kernels) const {
    const Kernel* best = nullptr;
    for (const Kernel* kernel : kernels) {
      if (standings_.contains(kernel) && (best == nullptr || ratio_of(kernel) < ratio_of(best))) best = kernel;
    }
    return best;
  }
  // The same, but a kernel whose bits are its own needs a clear lead over those that share theirs.
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
    Seconds own{}, winners{};  // shortest runs of the kernel, and of the winners, summed over the kernel's races
  };
  double ratio_of(const Kernel* kernel) const {
    const Standing& standing = standings_.at(kernel);
    return standing.own / standing.winners;
  }

  std::map<const Kernel*, Standing> standings_;
};

}  // namespace laptime
