// Names as words between slashes.
#include "report/point_names.h"

#include <algorithm>

namespace laptime {
namespace {

std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words;
  while (!name.empty()) {
    const size_t slash = name.find('/');
    words.emplace_back(name.substr(0, slash));
    name = slash == std::string_view::npos ? std::string_view() : name.substr(slash + 1);
  }
  return words;
}

}  // namespace

std::string common_words(const std::vector<std::string>& names) {
  if (names.size() < 2) return "";
  std::string common;
  for (const std::string& word : words_of(names.front())) {
    const bool is_common = std::all_of(names.begin(), names.end(), [&](const std::string& name) {
      const std::vector<std::string> words = words_of(name);
      return std::find(words.begin(), words.end(), word) != words.end();
    });
    if (is_common) common += (common.empty() ? "" : "/") + word;
  }
  return common;
}

std::string without_words(const std::string& name, const std::string& left_out) {
  const std::vector<std::string> unwanted = words_of(left_out);
  std::string kept;
  for (const std::string& word : words_of(name)) {
    if (std::find(unwanted.begin(), unwanted.end(), word) == unwanted.end()) kept += (kept.empty() ? "" : "/") + word;
  }
  return kept.empty() ? name : kept;
}

}  // namespace laptime
