// What earlier runs stored of a device, for commands that only read it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "prepare/knowledge.h"

namespace laptime {

// Reads from the store that `option`, the value of --store, names, or from the file itself; each device is read once.
// Nothing is known where there is no store yet. Error if the file cannot be read.
KnowledgeOf stored_knowledge(const std::string& option);
KnowledgeOf knowledge_in(const std::optional<std::filesystem::path>& store);

}  // namespace laptime
