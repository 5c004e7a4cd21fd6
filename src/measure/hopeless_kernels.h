// HopelessKernels: which kernels need not take part in a race, after the races that they lost.
#pragma once

#include <algorithm>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "backend/kernel.h"
#include "exec/race.h"

namespace laptime {

// Kernels that lost all their races so far, by so much that later races, of more work, leave them out. A kernel of a
// library that a device may lack is never one of them: it stands for what the library proposes for a shape, and that
// is another algorithm for each.
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
  // Removes them from a contest of `flops`. What holds for one amount of work is taken to hold for up to kReach times
  // as much, and so on from contest to contest.
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
    double closest = std::numeric_limits<double>::infinity();  // its time over the winner's, the least of all races
    double flops = 0;                                          // of the largest contest

    // The more races it lost, the smaller the margin that counts.
    bool hopeless() const { return (count >= 2 && closest > 1.25) || (count >= 4 && closest > kClearLead); }
  };
  std::map<const Kernel*, Races> races_;
};

}  // namespace laptime
