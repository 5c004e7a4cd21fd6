// Which signatures are raced, and which kernels take part.
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
  std::string key;
  std::vector<const Kernel*> kernels;  // more than one
};

// Each signature of the graph that has several kernels and no choice, once.
std::vector<Contest> open_contests(const Graph& graph, const KernelTable& table, const KernelChoices& choices) {
  std::vector<Contest> contests;
  std::set<std::string> seen;
  for (const Node& node : graph.nodes) {
    if (node.op->kind == OpKind::kView) continue;
    Signature signature = signature_of(graph, node);
    std::vector<const Kernel*> kernels = candidates(table, signature);
    std::erase_if(kernels, [](const Kernel* kernel) { return kernel->name == kReferenceName; });
    if (kernels.size() < 2) continue;
    std::string key = signature.text();
    if (choices.pinned.contains(key) || choices.measured.contains(key) || !seen.insert(key).second) continue;
    contests.push_back({std::move(signature), std::move(key), std::move(kernels)});
  }
  return contests;
}

// Kernels that were far behind in each of their first races, op by op: they run in no more of them.
class FarBehind {
 public:
  void keep(const std::vector<const Kernel*>& kernels, const RaceResult& result) {
    for (size_t i = 0; i < kernels.size(); ++i) {
      Races& races = races_[kernels[i]];
      ++races.count;
      if (result.shortest[i] > kFar * result.seconds) ++races.far_behind;
    }
  }
  bool contains(const Kernel* kernel) const {
    const auto found = races_.find(kernel);
    return found != races_.end() && found->second.count >= kRaces && found->second.far_behind == found->second.count;
  }

 private:
  static constexpr double kFar = 1.25;
  static constexpr int kRaces = 2;
  struct Races {
    int count = 0, far_behind = 0;
  };
  std::map<const Kernel*, Races> races_;
};

}  // namespace

std::vector<KernelChoice> try_kernels(const Graph& graph, const KernelChoices& choices, Backend& backend) {
  const std::vector<Contest> contests = open_contests(graph, backend.kernel_table(), choices);
  if (contests.empty()) return {};
  int64_t most = 0;
  for (const Contest& contest : contests) most = std::max(most, Trial::bytes(contest.signature, contest.kernels));
  const std::unique_ptr<DeviceMemory> memory = backend.allocate(most);  // the same for all of them
  std::vector<KernelChoice> learned;
  FarBehind far_behind;
  for (const Contest& contest : contests) {
    Trial trial(backend, contest.signature, *memory);
    std::vector<const Kernel*> kernels = contest.kernels;
    std::erase_if(kernels, [&](const Kernel* kernel) { return far_behind.contains(kernel); });
    if (kernels.empty()) kernels = contest.kernels;
    for (const Kernel* kernel : kernels) trial.prepare(*kernel);
    const RaceResult result = race(kernels.size(), [&](size_t candidate) { return trial.time(*kernels[candidate]); });
    far_behind.keep(kernels, result);
    learned.push_back({{}, contest.key, kernels[result.winner]->name, result.seconds.count(), {}});
  }
  return learned;
}

}  // namespace laptime
