// The files that make up a page; cmake/embedded_files.cmake compiles them into the program.
#pragma once

#include <span>
#include <string_view>

namespace laptime {

struct PageFile {
  std::string_view name;  // "page.css"
  std::string_view text;
  std::string_view sha256;  // hash of the text, 64 hexadecimal digits
};
std::span<const PageFile> page_files();

}  // namespace laptime
