// Where a command keeps its records.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace laptime {

// What --store asks for: a path, "none", or empty for the user's data directory, $XDG_DATA_HOME/laptime/records.sqlite
// or ~/.local/share/laptime/records.sqlite. None: "none", or there is no such directory because HOME is not set. A path
// is never a URI. Error for ":memory:".
std::optional<std::filesystem::path> store_path(const std::string& option);

}  // namespace laptime
