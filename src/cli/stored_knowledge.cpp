// Reads a store if there is one.
#include "cli/stored_knowledge.h"

#include <map>
#include <memory>
#include <system_error>

#include "cli/store_path.h"

namespace laptime {

KnowledgeOf stored_knowledge(const std::string& option) { return knowledge_in(store_path(option)); }

KnowledgeOf knowledge_in(const std::optional<std::filesystem::path>& store) {
  const auto read = std::make_shared<std::map<std::string, MachineKnowledge>>();  // by device; shared by copies
  return [path = store, read](const std::string& device) -> MachineKnowledge {
    std::error_code error;
    if (!path || !std::filesystem::exists(*path, error)) return {};
    const auto known = read->find(device);
    if (known != read->end()) return known->second;
    return read->emplace(device, knowledge_of(Store::open(*path, Store::Access::kRead), device)).first->second;
  };
}

}  // namespace laptime
