// The contents of machines/*.toml and sweeps/*.toml, which cmake/toml_files.cmake compiles into the program.
#pragma once

#include <span>
#include <string_view>

namespace laptime {

struct TomlFile {
  std::string_view name;  // "h100.toml"
  std::string_view text;
};
std::span<const TomlFile> machine_files();
std::span<const TomlFile> sweep_files();

}  // namespace laptime
