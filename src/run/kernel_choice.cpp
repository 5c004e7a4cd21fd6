// Choices by measurement.
#include "run/kernel_choice.h"

#include <algorithm>
#include <limits>

#include "exec/trial.h"

namespace laptime {
namespace {

std::vector<const Kernel*> candidates(const Backend& backend, const Signature& signature) {
  std::vector<const Kernel*> kernels;
  for (const Kernel& kernel : backend.kernels(*signature.op)) {
    if (kernel.refusal(signature).empty()) kernels.push_back(&kernel);
  }
  return kernels;
}

}  // namespace

KernelChoices choices_of(const std::vector<KernelChoice>& stored) {
  KernelChoices choices;
  for (const KernelChoice& choice : stored) choices[choice.signature] = choice.kernel;
  return choices;
}

ChooseKernel chooser(const Backend& backend, const KernelChoices& choices) {
  return [&backend, &choices](const Signature& signature) -> const Kernel* {
    const std::vector<const Kernel*> kernels = candidates(backend, signature);
    if (kernels.size() > 1) {
      if (const auto chosen = choices.find(signature.text()); chosen != choices.end()) {
        for (const Kernel* kernel : kernels) {
          if (kernel->name == chosen->second) return kernel;
        }
      }
    }
    return kernels.empty() ? nullptr : kernels.front();
  };
}

std::vector<KernelChoice> try_kernels(const Graph& graph, Backend& backend, KernelChoices& choices) {
  std::vector<KernelChoice> learned;
  for (const Node& node : graph.nodes) {
    if (node.op->kind == OpKind::kView) continue;
    const Signature signature = signature_of(graph, node);
    std::vector<const Kernel*> kernels = candidates(backend, signature);
    std::erase_if(kernels, [](const Kernel* kernel) { return kernel->name == kReferenceName; });
    if (kernels.size() < 2) continue;
    const std::string key = signature.text();
    if (choices.contains(key)) continue;
    KernelChoice choice{{}, key, {}, 0, {}};
    Trial trial(backend, signature);
    Seconds best{std::numeric_limits<double>::infinity()};
    for (const Kernel* kernel : kernels) {
      const double seconds = trial.time(*kernel, best).count();
      best = std::min(best, Seconds(seconds));
      if (!choice.kernel.empty() && seconds >= choice.seconds) continue;
      choice.kernel = kernel->name;
      choice.seconds = seconds;
    }
    choices[key] = choice.kernel;
    learned.push_back(choice);
  }
  return learned;
}

}  // namespace laptime
