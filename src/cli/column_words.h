// The columns that users may name, for `laptime list columns` and for completion.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"

namespace laptime {

struct ColumnWord {
  std::string name;
  std::string unit;  // "-" for none
  std::string help;  // one line
};

// Every column that has a name of its own, in the order of the list: headers, metrics, short names, options,
// headers of the sets.
std::vector<ColumnWord> column_words();

// The same with what each is, for completion.
std::vector<WordHelp> named_columns();

}  // namespace laptime
