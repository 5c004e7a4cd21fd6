// Completion scripts for bash, zsh and fish.
#pragma once

#include <span>
#include <string_view>

namespace laptime {

// A script asks `laptime completion words` at each completion, so it never lists words itself.
struct CompletionScript {
  std::string_view shell;
  std::string_view use;  // how to try the script, for --help
  std::string_view text;
};
std::span<const CompletionScript> completion_scripts();

}  // namespace laptime
