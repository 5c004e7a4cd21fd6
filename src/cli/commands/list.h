// laptime list: what can be chosen, and the columns that users may name.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"

namespace laptime {

// Something to list; the table of topics stands in list.cpp.
struct ListTopic {
  std::string_view name;
  std::string_view help;                        // what it lists
  std::string (*text)(size_t width) = nullptr;  // of a terminal; 0: lines are not broken
};
std::span<const ListTopic> list_topics();

struct ColumnWord {
  std::string name;
  std::string unit;  // "-" for none
  std::string help;  // one line
};

// Every column that has a name of its own, in the order of the list: headers, metrics, short names, options,
// headers of the sets.
std::vector<ColumnWord> column_words();

// Their names and meanings, for completion.
std::vector<WordHelp> named_columns();

}  // namespace laptime
