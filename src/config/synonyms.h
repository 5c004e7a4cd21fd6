// Words that users know from other programs, and the equivalent words of this program, or what to type instead.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace laptime {

struct Synonym {
  std::string_view flag;  // the option that takes the word; empty if the word is itself an option name
  std::string_view word;  // lower case, with '-' instead of '_'
  std::string_view meant;
};
std::span<const Synonym> synonyms();

// A word from another program that has no equivalent here, and what to type instead.
struct Hint {
  // Like Synonym::flag; or "laptime profile" for an option of that command only, "command" for a word used as a
  // command, and "format" for a word used as a format.
  std::string_view of;
  std::string_view word;  // like Synonym::word
  std::string_view instead;
};
std::span<const Hint> hints();

// "; instead: --output json --output-file FILE"; empty if there is no hint.
std::string hint_for(std::string_view of, std::string_view word);

// The flag of the option that a word refers to in any spelling: "context_length", "ctx" and "seq-len" mean "context".
// Any other word is returned unchanged.
std::string meant_flag(std::string_view word);

// The value that a word means: "bf16" for --dtype is "bfloat16". Any other word is returned unchanged.
std::string meant_value(std::string_view flag, std::string_view word);

}  // namespace laptime
