// Reads kernel choices.
#include "cli/stored_choices.h"

#include <filesystem>
#include <system_error>

#include "cli/store_path.h"

namespace laptime {

std::function<std::vector<KernelChoice>(const std::string& device)> stored_choices(const std::string& option) {
  return [path = store_path(option)](const std::string& device) -> std::vector<KernelChoice> {
    std::error_code error;
    if (!path || !std::filesystem::exists(*path, error)) return {};
    return Store::open(*path, Store::Access::kRead).kernel_choices(device);
  };
}

}  // namespace laptime
