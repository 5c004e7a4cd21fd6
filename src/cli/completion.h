// Completion in shells: the scripts, and what an unfinished word of a command line could become.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"

namespace laptime {

struct Completions {
  std::vector<WordHelp> words;  // whole words; one that ends in '=' or ':' goes on
  bool files = false;           // names of files complete the word too
};

// `words` are those after the program's name, up to the cursor; the last one is unfinished and may be empty.
Completions completions_of(std::span<const std::string> words);

// A line for each word, "WORD<tab>MEANING", and at the end ":files" where names of files complete it too.
std::string completion_lines(const Completions& completions);

// The words that a placeholder of help stands for: alternatives are separated by '|', and capitals are placeholders for
// something else. A word that goes on ends before its placeholder: "every=" of "every=K".
Completions words_of_placeholder(std::string_view placeholder);

}  // namespace laptime
