// Texts that describe the program: help, the manual page, lists, and the words that complete a line.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"

namespace laptime {

std::string_view program_example();             // a command line
std::string explanation(const OptionRow& row);  // with its values and its default

// No line is wider than `width` columns unless a word is; lines to type are continued as a shell reads them.
std::string program_help(size_t width);
std::string command_help(const Command& command, size_t width);

// The manual page, source for roff with the macros of man(7). An option that means the same in laptime bench is
// explained there alone.
std::string man_page();

// Every option of a sweep as a table: flag, values, key, tag in names, default, help.
std::string options_listing(size_t width = 0);  // of a terminal; 0: lines are not broken

struct ListTopic {
  std::string_view name;
  std::string_view help;                        // what it lists
  std::string (*text)(size_t width) = nullptr;  // of a terminal; 0: lines are not broken
};
std::span<const ListTopic> list_topics();

std::vector<WordHelp> named_columns();  // and what they mean

struct Completions {
  std::vector<WordHelp> words;  // whole words; one that ends in '=' or ':' goes on
  bool files = false;           // names of files complete the word too
};

// `words` are those after the program's name, up to the cursor; the last one is unfinished and may be empty.
Completions completions_of(std::span<const std::string> words);

// A line for each word, "WORD<tab>MEANING", and at the end ":files" where names of files complete it too.
std::string completion_lines(const Completions& completions);

// The scripts of bash, zsh and fish (completion/), which ask `laptime completion words` at each completion.
std::span<const std::string_view> completion_scripts();

// The words that a placeholder of help stands for: alternatives are separated by '|', and capitals are placeholders for
// something else. A word that goes on ends before its placeholder: "every=" of "every=K".
Completions words_of_placeholder(std::string_view placeholder);

}  // namespace laptime
