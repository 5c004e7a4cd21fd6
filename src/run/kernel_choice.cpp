// Choices from a file, and by measurement.
#include "run/kernel_choice.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/words.h"
#include "exec/race.h"
#include "exec/trial.h"
#include "ops/registry.h"
#include "run/kernels_file.h"

namespace laptime {
namespace {

std::vector<const Kernel*> candidates(const Backend& backend, const Signature& signature) {
  std::vector<const Kernel*> kernels;
  for (const Kernel& kernel : backend.kernels(*signature.op)) {
    if (kernel.refusal(signature).empty()) kernels.push_back(&kernel);
  }
  return kernels;
}

const Kernel& kernel_named(const OpCard& op, const std::string& name, const Backend& backend,
                           const std::string& where) {
  std::vector<std::string_view> known;
  for (const Kernel& kernel : backend.kernels(op)) {
    if (kernel.name == name) return kernel;
    known.push_back(kernel.name);
  }
  reject_word(where, fmt::format("{} kernel", op.name), name, known);
}

// A signature's text begins with its op.
void check_names(const KernelChoices& choices, const Backend& backend) {
  for (const auto& [signature, kernel] : choices.pinned) {
    const std::string name = signature.substr(0, signature.find('('));
    const OpCard* const op = find_op(name);
    if (op == nullptr) {
      std::vector<std::string_view> known;
      for (const OpCard* const card : all_ops()) known.emplace_back(card->name);
      throw Error::format("{}: unknown op {}{} (laptime list kernels)", choices.pinned_by, quote(name),
                          did_you_mean(name, known));
    }
    kernel_named(*op, kernel, backend, choices.pinned_by);
  }
}

const Kernel* pinned_kernel(const Signature& signature, const Backend& backend, const KernelChoices& choices) {
  if (choices.pinned.empty()) return nullptr;
  const std::string text = signature.text();
  const auto pinned = choices.pinned.find(text);
  if (pinned == choices.pinned.end()) return nullptr;
  const Kernel& kernel = kernel_named(*signature.op, pinned->second, backend, choices.pinned_by);
  if (const std::string reason = kernel.refusal(signature); !reason.empty()) {
    throw Error::format("{}: kernel {} refuses {}: {}", choices.pinned_by, quote(kernel.name), text, reason);
  }
  return &kernel;
}

struct Contest {
  Signature signature;
  std::string key;
  std::vector<const Kernel*> kernels;  // more than one
};

// Each signature of the graph that has several kernels and no choice, once.
std::vector<Contest> open_contests(const Graph& graph, const Backend& backend, const KernelChoices& choices) {
  std::vector<Contest> contests;
  std::set<std::string> seen;
  for (const Node& node : graph.nodes) {
    if (node.op->kind == OpKind::kView) continue;
    Signature signature = signature_of(graph, node);
    std::vector<const Kernel*> kernels = candidates(backend, signature);
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

KernelChoices choices_of(const RunConfig& config, const Backend& backend, const std::vector<KernelChoice>& stored) {
  KernelChoices choices;
  for (const KernelChoice& choice : stored) choices.measured[choice.signature] = choice.kernel;
  if (!config.kernels) return choices;
  choices.pinned_by = kernels_file_text(*config.kernels);
  choices.pinned = read_kernels_file(*config.kernels);
  check_names(choices, backend);
  return choices;
}

ChooseKernel chooser(const Backend& backend, const KernelChoices& choices) {
  return [&backend, &choices](const Signature& signature) -> const Kernel* {
    if (const Kernel* const pinned = pinned_kernel(signature, backend, choices)) return pinned;
    const std::vector<const Kernel*> kernels = candidates(backend, signature);
    if (kernels.size() > 1) {
      if (const auto chosen = choices.measured.find(signature.text()); chosen != choices.measured.end()) {
        for (const Kernel* kernel : kernels) {
          if (kernel->name == chosen->second) return kernel;
        }
      }
    }
    return kernels.empty() ? nullptr : kernels.front();
  };
}

void check_pinned(const Graph& graph, const Backend& backend, const KernelChoices& choices) {
  bool any = choices.pinned.empty();
  for (const Node& node : graph.nodes) {
    if (node.op->kind == OpKind::kView) continue;
    any = pinned_kernel(signature_of(graph, node), backend, choices) != nullptr || any;
  }
  if (any) return;
  throw Error::format(
      "{} chooses nothing for this point: none of its {} signatures is one of its nodes'; it was written for another "
      "model, shape, type or mode",
      choices.pinned_by, choices.pinned.size());
}

std::vector<KernelChoice> try_kernels(const Graph& graph, Backend& backend, KernelChoices& choices) {
  const std::vector<Contest> contests = open_contests(graph, backend, choices);
  int64_t most = 0;
  for (const Contest& contest : contests) most = std::max(most, Trial::bytes(contest.signature, contest.kernels));
  const std::unique_ptr<DeviceMemory> memory = backend.allocate(most);  // the same for all of them
  std::vector<KernelChoice> learned;
  FarBehind far_behind;
  for (const Contest& contest : contests) {
    Trial trial(backend, contest.signature, memory->data());
    std::vector<const Kernel*> kernels = contest.kernels;
    std::erase_if(kernels, [&](const Kernel* kernel) { return far_behind.contains(kernel); });
    if (kernels.empty()) kernels = contest.kernels;
    const RaceResult result = race(kernels.size(), [&](size_t candidate) { return trial.time(*kernels[candidate]); });
    far_behind.keep(kernels, result);
    const std::string& kernel = kernels[result.winner]->name;
    choices.measured[contest.key] = kernel;
    learned.push_back({{}, contest.key, kernel, result.seconds.count(), {}});
  }
  return learned;
}

}  // namespace laptime
