// compare_files: the records of two files that belong together.
#pragma once

#include <string>
#include <vector>

#include "report/comparison.h"

namespace laptime {

struct ComparedFiles {
  std::vector<StoredPair> pairs;
  std::vector<std::string> left_out;  // a sentence for each record that has no counterpart or no time
};

// Records of one name in one file are one: their samples follow each other, as those of rounds. Where each file has
// records of a single name, these two belong together, whatever their names. Error if a file has no records, if nothing
// belongs together, and, unless `anyway`, where two records differ in machine or arithmetic.
ComparedFiles compare_files(const std::string& a, const std::string& b, bool anyway);

}  // namespace laptime
