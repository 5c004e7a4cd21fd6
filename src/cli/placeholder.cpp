// Splits placeholders at their bars.
#include "cli/placeholder.h"

#include <algorithm>

namespace laptime {
namespace {

// The parts between separators, without empty ones.
std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(separator), text.size());
    if (end > 0) parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

}  // namespace

PlaceholderWords words_of_placeholder(std::string_view placeholder) {
  PlaceholderWords found;
  for (const std::string_view part : split(placeholder, '|')) {
    if (part.starts_with("FILE")) found.files = true;
    const auto* const capital = std::find_if(part.begin(), part.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
    const std::string_view word = part.substr(0, static_cast<size_t>(capital - part.begin()));
    const bool names_itself = !word.empty() && word.find_first_of("[{") == std::string_view::npos;
    if (names_itself) found.words.push_back(word);
  }
  return found;
}

std::vector<std::string_view> split_words(std::string_view text) { return split(text, ' '); }

}  // namespace laptime
