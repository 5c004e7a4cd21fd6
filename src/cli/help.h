// Descriptive texts: help, the manual page, lists, and completions for a command line.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"

namespace laptime {

std::string_view program_example();             // the example in the program's help
std::string explanation(const OptionRow& row);  // the option's help with its values and its default

// Lines are at most `width` columns wide unless a single word is wider; long command lines are continued with a
// backslash.
std::string program_help(size_t width);
std::string command_help(const Command& command, size_t width);

// The manual page, as roff source with man(7) macros. Options shared with laptime bench are explained only there,
// unless a command shares only a few.
std::string man_page();

// Tabulates every option of a sweep: flag, values, key, tag in names, default, help.
std::string options_listing(size_t width = 0);  // terminal width; 0: lines are not broken

struct ListTopic {
  std::string_view name;
  std::string_view help;                        // what the topic lists
  std::string (*text)(size_t width) = nullptr;  // takes the terminal width; 0: lines are not broken
};
std::span<const ListTopic> list_topics();

std::vector<WordHelp> named_columns();  // every column that has a name, with its meaning

struct Completions {
  std::vector<WordHelp> words;  // complete words; a word that ends in '=' or ':' expects more text
  bool files = false;           // file names complete the word too
};

// `words` are the words after the program's name, up to the cursor; the last word is unfinished and may be empty.
Completions completions_of(std::span<const std::string> words);

// One line per word, "WORD<tab>MEANING", and ":files" at the end if file names complete it too.
std::string completion_lines(const Completions& completions);

// The scripts for bash, zsh and fish (completion/), which call `laptime completion words` for each completion.
std::span<const std::string_view> completion_scripts();

// The words that can replace a placeholder in help: '|' separates alternatives, and capitals stand for other text. A
// word that expects more text ends before its capitals: "every=" for "every=K".
Completions words_of_placeholder(std::string_view placeholder);

}  // namespace laptime
