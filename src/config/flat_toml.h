// The subset of TOML that laptime's files use: `key = value` lines, whose arrays may span several lines.
#pragma once

#include <toml++/toml.h>

#include <string_view>
#include <vector>

namespace laptime {

struct TomlEntry {
  std::string_view key;
  const toml::node* value;
  toml::source_position position;
};

// Throws Error with `name` and the line for malformed TOML, a section, a brace or a multi-line string: toml++ 3.3 has
// undefined behaviour for some malformed input, such as "[$]" and "a = [}".
toml::table parse_flat_toml(std::string_view text, std::string_view name);

// The entries of the table, sorted by their position in the file. The table must outlive them.
std::vector<TomlEntry> in_file_order(const toml::table& table);

}  // namespace laptime
