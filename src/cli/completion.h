// What an unfinished word of a command line could become, for the completion of shells.
#pragma once

#include <span>
#include <string>
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

}  // namespace laptime
