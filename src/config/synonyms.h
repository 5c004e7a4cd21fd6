// Words that users bring from other programs, and the words of this one that they stand for, or what to type instead.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace laptime {

struct Synonym {
  std::string_view flag;  // of the option whose value the word is; empty for the name of an option itself
  std::string_view word;  // lower case, with '-' for '_'
  std::string_view meant;
};
std::span<const Synonym> synonyms();

// A word of another program that stands for no word of this one, and what to type instead.
struct Hint {
  // As Synonym::flag; "laptime profile" for an option of one command, "command", "format" for a word in the place of
  // these.
  std::string_view of;
  std::string_view word;  // as Synonym::word
  std::string_view instead;
};
std::span<const Hint> hints();

// "; instead: --output json --output-file FILE", or nothing.
std::string hint_for(std::string_view of, std::string_view word);

// The flag of the option that a word names in any of its spellings: "context_length", "ctx" and "seq-len" are
// "context". Any other word comes back as it is.
std::string meant_flag(std::string_view word);

// The value that a word stands for: "bf16" of --dtype is "bfloat16". Any other word comes back as it is.
std::string meant_value(std::string_view flag, std::string_view word);

}  // namespace laptime
