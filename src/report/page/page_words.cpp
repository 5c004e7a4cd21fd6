// Collects the words that the records of a page use.
#include "report/page/page_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

#include "distribution/verdict.h"
#include "record/metrics.h"
#include "report/column_sets/readers.h"
#include "report/row.h"

namespace laptime {
namespace {

std::string in_words(std::string_view name) {
  std::string text(name);
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

// Parts of the texts of cells::arithmetic_of. A part within another one comes after it, and then means nothing itself.
constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kArithmetic{
    {{"bfloat16 autocast",
      "matrix products take factors rounded to bfloat16 and add up in float32; all else is float32"},
     {"float16 autocast", "matrix products take factors rounded to float16 and add up in float32; all else is float32"},
     {"widened", "the rounded factors are widened to float32 before they are multiplied"},
     {"partly split",
      "where that was faster here, a matrix product of float32 is the sum of products of bfloat16 terms, three for "
      "each "
      "float32, which is about as exact"},
     {"split",
      "each matrix product of float32 is the sum of products of bfloat16 terms, three for each float32, which is about "
      "as exact"},
     {"tf32", "factors of matrix products are rounded to the 10 bits of mantissa of TF32"}}};

}  // namespace

std::string verdict_text(const Record& record) {
  return in_words(is_predicted(record) ? kPredicted : record.verdict.rating);
}

std::vector<PageWord> verdict_words(const std::vector<const Record*>& records) {
  std::set<std::string> used;
  for (const Record* const record : records) {
    if (record->status == Status::kOk) used.insert(verdict_text(*record));
  }
  std::vector<PageWord> words;
  for (const StabilityWord& stability : stability_words()) {
    if (std::string word = in_words(stability.name); used.contains(word))
      words.push_back({std::move(word), std::string(stability.meaning)});
  }
  if (used.contains(kPredicted))
    words.push_back({kPredicted, "computed for a described machine; nothing was measured"});
  return words;
}

std::vector<PageWord> arithmetic_words(const std::vector<const Record*>& records) {
  std::set<std::string> used;
  for (const Record* const record : records) {
    if (const Json text = cells::arithmetic_of(Row(*record), ""); text.is_string())
      used.insert(text.get<std::string>());
  }
  std::vector<PageWord> words;
  for (const std::string& text : used) {
    std::vector<std::string_view> meanings;
    std::string found;
    for (const auto& [part, meaning] : kArithmetic) {
      if (text.find(part) == std::string::npos || found.find(part) != std::string::npos) continue;
      found += part;
      meanings.push_back(meaning);
    }
    if (!meanings.empty()) words.push_back({text, fmt::format("{}", fmt::join(meanings, "; "))});
  }
  return words;
}

}  // namespace laptime
