// What bench has stored of a device, for commands that only read it.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "prepare/knowledge.h"
#include "record/store.h"

namespace laptime {

// Reads the choices for a device (device_key) from the store that `option`, the value of --store, names. None where
// there is no store yet; Error if the file cannot be read.
std::function<std::vector<KernelChoice>(const std::string& device)> stored_choices(const std::string& option);

// The same with all that is known of the device.
using KnowledgeOf = std::function<MachineKnowledge(const std::string& device)>;
KnowledgeOf stored_knowledge(const std::string& option);
KnowledgeOf knowledge_in(const std::optional<std::filesystem::path>& store);

}  // namespace laptime
