// The files that make up a page, and filled_page, which puts them and the data into one HTML file.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/json.h"

namespace laptime {

// A file that cmake/embedded_files.cmake compiles into the program.
struct PageFile {
  std::string_view name;  // "page.css"
  std::string_view text;
  std::string_view sha256;  // hash of the text, 64 hexadecimal digits
};
std::span<const PageFile> page_files();

// The page that `script`, an embedded file, builds from its JSON block. The content security policy allows the embedded
// scripts and styles by their hashes, and nothing from outside. Text in `data` becomes text nodes.
std::string filled_page(std::string_view script, const Json& data);

}  // namespace laptime
