// Pinned and stored choices.
#include "prepare/kernel_choice.h"

#include <algorithm>

#include "base/error.h"
#include "base/words.h"
#include "ops/registry.h"
#include "prepare/kernels_file.h"

namespace laptime {
namespace {

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

}  // namespace

std::vector<const Kernel*> candidates(const Backend& backend, const Signature& signature) {
  std::vector<const Kernel*> kernels;
  for (const Kernel& kernel : backend.kernels(*signature.op)) {
    if (kernel.refusal(signature).empty()) kernels.push_back(&kernel);
  }
  return kernels;
}

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

}  // namespace laptime
