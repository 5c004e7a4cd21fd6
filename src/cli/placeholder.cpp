// Splits placeholders at their bars.
#include "cli/placeholder.h"

#include <algorithm>

#include "base/proc_text.h"

namespace laptime {
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

}  // namespace laptime
