// Chooses kernels from pinned and stored choices, and reads pinned choices from records.
#include "prepare/kernel_choice.h"

#include <algorithm>

#include "base/error.h"
#include "base/json.h"
#include "base/words.h"
#include "data/json_documents.h"
#include "ops/registry.h"

namespace laptime {
namespace {

DocumentFile file_at(const std::string& path) {
  return {.path = path,
          .purpose = "kernels file",
          .advice = "give records written by `laptime bench --output json`",
          .limit = kMaxKernelsFile};
}

// The string at `key`, or empty if there is none.
std::string text_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != nullptr && found->is_string() ? found->get<std::string>() : std::string();
}

void add_choices(const Json& record, const std::string& where, const char* advice, KernelsBySignature& choices) {
  const auto kernels = record.find("kernels");
  if (kernels == nullptr || !kernels->is_array()) throw Error::format("{} has no 'kernels' list; {}", where, advice);
  for (const Json& use : *kernels) {
    const std::string op = text_at(use, "op");
    const std::string signature = text_at(use, "signature");
    const std::string kernel = text_at(use, "kernel");
    if (op.empty() || kernel.empty() || !signature.starts_with(op + "(")) {
      throw Error::format("{}: {} is not a kernel choice; give op, signature and kernel as in a record", where,
                          quote(use.dump()));
    }
    const auto [chosen, is_new] = choices.try_emplace(signature, kernel);
    if (!is_new && chosen->second != kernel) {
      throw Error::format("{} chooses {} for {}, but an earlier record chooses {}; keep only records that agree", where,
                          quote(kernel), signature, quote(chosen->second));
    }
  }
}

}  // namespace

std::string kernels_file_text(const std::string& path) { return text_of(file_at(path)); }

KernelsBySignature read_kernels_file(const std::string& path) {
  const DocumentFile file = file_at(path);
  KernelsBySignature choices;
  each_document(
      file, [&](const Json& record, const std::string& where) { add_choices(record, where, file.advice, choices); });
  if (choices.empty()) {
    throw Error::format("{} contains no kernel choices: none of its points ran; {}", text_of(file), file.advice);
  }
  return choices;
}

namespace {

const Kernel& kernel_named(const OpCard& op, const std::string& name, const KernelTable& kernels,
                           const std::string& where) {
  std::vector<std::string_view> known;
  for (const Kernel& kernel : kernels.of(op)) {
    if (kernel.name == name) return kernel;
    known.push_back(kernel.name);
  }
  reject_word(where, fmt::format("{} kernel", op.name), name, known);
}

// Checks that the pinned ops and kernels exist. The text of a signature begins with the name of its op.
void check_names(const KernelChoices& choices, const KernelTable& kernels) {
  for (const auto& [signature, kernel] : choices.pinned) {
    const std::string name = signature.substr(0, signature.find('('));
    const OpCard* const op = find_op(name);
    if (op == nullptr) {
      std::vector<std::string_view> known;
      for (const OpCard* const card : all_ops()) known.emplace_back(card->name);
      throw Error::format("{}: unknown op {}{} (laptime list kernels)", choices.pinned_by, quote(name),
                          did_you_mean(name, known));
    }
    kernel_named(*op, kernel, kernels, choices.pinned_by);
  }
}

const Kernel* pinned_kernel(const Signature& signature, const KernelTable& kernels, const KernelChoices& choices) {
  if (choices.pinned.empty()) return nullptr;
  const std::string text = signature.text();
  const auto pinned = choices.pinned.find(text);
  if (pinned == choices.pinned.end()) return nullptr;
  const Kernel& kernel = kernel_named(*signature.op, pinned->second, kernels, choices.pinned_by);
  if (const std::string reason = refusal(kernel, kernels, signature, choices.rules); !reason.empty()) {
    throw Error::format("{}: kernel {} cannot run {}: {}", choices.pinned_by, quote(kernel.name), text, reason);
  }
  return &kernel;
}

// The first kernel with the least workspace. The reference kernel needs no workspace, but is used only if there is no
// other kernel.
const Kernel* with_least_workspace(const std::vector<const Kernel*>& supported, const Signature& signature) {
  const Kernel* least = nullptr;
  for (const Kernel* kernel : supported) {
    if (kernel->name == std::string_view(kReferenceName) && least != nullptr) continue;
    if (least == nullptr || kernel->workspace_bytes(signature) < least->workspace_bytes(signature)) least = kernel;
  }
  return least;
}

}  // namespace

std::vector<const Kernel*> candidates(const KernelTable& kernels, const Signature& signature,
                                      const KernelRules& rules) {
  std::vector<const Kernel*> supported;
  for (const Kernel& kernel : kernels.of(*signature.op)) {
    if (refusal(kernel, kernels, signature, rules).empty()) supported.push_back(&kernel);
  }
  return supported;
}

const Kernel* measured_kernel(const KernelChoices& choices, const std::string& signature,
                              std::span<const Kernel* const> supported) {
  const auto chosen = choices.measured.find(signature);
  if (chosen == choices.measured.end()) return nullptr;
  const auto found = std::find_if(supported.begin(), supported.end(),
                                  [&](const Kernel* kernel) { return kernel->name == chosen->second; });
  return found == supported.end() ? nullptr : *found;
}

KernelChoices choices_of(const RunConfig& config, const KernelTable& kernels, const std::vector<KernelChoice>& stored) {
  KernelChoices choices;
  choices.rules = rules_of(config);
  for (const KernelChoice& choice : stored) choices.measured[choice.signature] = choice.kernel;
  if (!config.kernels) return choices;
  choices.pinned_by = kernels_file_text(*config.kernels);
  choices.pinned = read_kernels_file(*config.kernels);
  check_names(choices, kernels);
  return choices;
}

ChooseKernel chooser(const KernelTable& kernels, const KernelChoices& choices) {
  return [&kernels, &choices](const Signature& signature) -> const Kernel* {
    if (const Kernel* const pinned = pinned_kernel(signature, kernels, choices)) return pinned;
    const std::vector<const Kernel*> supported = candidates(kernels, signature, choices.rules);
    if (choices.saves_memory) return with_least_workspace(supported, signature);
    if (supported.size() > 1 && choices.takes_measured) {
      if (const Kernel* const measured = measured_kernel(choices, signature.text(), supported)) return measured;
    }
    return supported.empty() ? nullptr : supported.front();
  };
}

void check_pinned(const Graph& graph, const KernelTable& kernels, const KernelChoices& choices) {
  bool found = choices.pinned.empty();
  for (const Node& node : graph.nodes) {
    if (node.op->kind == OpKind::kView) continue;
    found = pinned_kernel(signature_of(graph, node), kernels, choices) != nullptr || found;
  }
  if (found) return;
  throw Error::format(
      "{} contains no kernel choice for this point: none of its {} signatures occurs in the step; give records of the "
      "same model, shapes, types and mode",
      choices.pinned_by, choices.pinned.size());
}

}  // namespace laptime
