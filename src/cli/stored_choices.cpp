// Reads a store if there is one.
#include "cli/stored_choices.h"

#include <filesystem>
#include <system_error>

#include "cli/store_path.h"

namespace laptime {

KnowledgeOf stored_knowledge(const std::string& option) { return knowledge_in(store_path(option)); }

KnowledgeOf knowledge_in(const std::optional<std::filesystem::path>& store) {
  return [path = store](const std::string& device) -> MachineKnowledge {
    std::error_code error;
    if (!path || !std::filesystem::exists(*path, error)) return {};
    const Store store = Store::open(*path, Store::Access::kRead);
    return {store.kernel_choices(device), store.launch_costs(device), store.measured_peaks(device)};
  };
}

std::function<std::vector<KernelChoice>(const std::string& device)> stored_choices(const std::string& option) {
  return [knowledge = stored_knowledge(option)](const std::string& device) { return knowledge(device).kernel_choices; };
}

}  // namespace laptime
