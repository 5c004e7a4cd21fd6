// The texts of machines/*.toml, which cmake/machine_files.cmake compiles into the program.
#pragma once

#include <span>
#include <string_view>

namespace laptime {

struct MachineFile {
  std::string_view name;  // "h100.toml"
  std::string_view text;
};
std::span<const MachineFile> machine_files();

}  // namespace laptime
