// The base directories of freedesktop.org.
#include "cli/store_path.h"

#include <cstdlib>

#include "base/error.h"

namespace laptime {
namespace {

// A directory named by the environment; by the specification a path that is not absolute is ignored.
std::optional<std::filesystem::path> directory(const char* variable) {
  const char* const value = std::getenv(variable);
  if (value == nullptr || *value != '/') return std::nullopt;
  return std::filesystem::path(value);
}

}  // namespace

std::optional<std::filesystem::path> store_path(const std::string& option) {
  if (option == "none") return std::nullopt;
  if (option == ":memory:")
    throw Error("--store :memory: would keep nothing; give --store none, or ./:memory: for a file of this name");
  if (!option.empty()) return std::filesystem::path(option);
  std::optional<std::filesystem::path> data = directory("XDG_DATA_HOME");
  if (!data) {
    data = directory("HOME");
    if (data) *data /= ".local/share";
  }
  if (!data) return std::nullopt;
  return *data / "laptime" / "records.sqlite";
}

}  // namespace laptime
