// The subset of TOML that laptime's files use: `key = value` entries, one per line, except that an array may span
// several lines.
#pragma once

#include <toml++/toml.h>

#include <string>
#include <string_view>
#include <vector>

namespace laptime {

struct TomlEntry {
  std::string_view key;
  const toml::node* value;
  toml::source_position position;
};

// Throws Error with `name` and the line for malformed TOML, and for a section, a brace, a multi-line string, or a
// non-ASCII character outside strings and comments. Sections and braces are rejected before toml++ 3.3 parses the text,
// because its behaviour is undefined for some malformed input, such as "[$]" and "a = [}".
toml::table parse_flat_toml(std::string_view text, std::string_view name);

// The key as it is written in a file: in quotes unless it is a bare key.
std::string toml_key(std::string_view key);

// The entries of the table, sorted by their position in the file. The table must outlive the entries.
std::vector<TomlEntry> in_file_order(const toml::table& table);

}  // namespace laptime
