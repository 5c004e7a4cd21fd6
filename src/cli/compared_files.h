// compare_files: pairs the points of two files of records and judges each pair.
#pragma once

#include <string>
#include <vector>

#include "report/comparison.h"

namespace laptime {

struct ComparedFiles {
  std::vector<StoredPair> pairs;
  double confidence = 0;  // of the intervals
};

// Records of one name in one file are processes of one point. Where each file has a single name, these two are a pair,
// whatever their names. A point of one file alone is a pair that is missing on the other side. The interval of a ratio
// excludes the true one once in a hundred comparisons, and with more than five points as often as keeps it to one in
// twenty for all of them together. Error if a file has no records, if the files share no point, and, unless `anyway`,
// where two records differ in machine or arithmetic.
ComparedFiles compare_files(const std::string& a, const std::string& b, bool anyway);

}  // namespace laptime
