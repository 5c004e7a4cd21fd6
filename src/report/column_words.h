// column_words: the columns that have a name of their own, for lists and completion.
#pragma once

#include <string>
#include <vector>

namespace laptime {

struct ColumnWord {
  std::string name;
  std::string unit;  // "-" for none
  std::string help;  // one line
};

// Every column that has a name of its own: headers, metrics, short names, options, headers of the sets.
std::vector<ColumnWord> column_words();

}  // namespace laptime
