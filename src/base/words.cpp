// Quotes user input and finds the nearest known name (optimal string alignment distance).
#include "base/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <type_traits>

namespace laptime {
namespace {

constexpr size_t kLongestShown = 80;
constexpr size_t kLongestCompared = 64;  // computing the distance takes quadratic time; no known name is longer

size_t edits(std::string_view a, std::string_view b) {
  std::vector<size_t> before_last(b.size() + 1);
  std::vector<size_t> last(b.size() + 1);
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = last[j - 1] + (lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]);
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    before_last.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

// True if the name starts with the word, ignoring case, and the word has at least half as many letters as the name.
// False for words of one or two letters.
bool starts_name(std::string_view word, std::string_view name) {
  constexpr size_t kLeast = 3;
  if (word.size() < kLeast || name.size() < word.size() || name.size() > 2 * word.size()) return false;
  return std::equal(word.begin(), word.end(), name.begin(), [](char a, char b) { return lower(a) == lower(b); });
}

template <typename Range>
std::string joined_range(const Range& range, std::string_view separator) {
  std::string text;
  bool first = true;
  for (const auto& value : range) {
    if (!first) text += separator;
    first = false;
    if constexpr (std::is_integral_v<std::remove_cvref_t<decltype(value)>>)
      text += std::to_string(value);
    else
      text += value;
  }
  return text;
}

}  // namespace

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string lowered(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), lower);
  return out;
}

std::string spaced(std::string_view key) {
  std::string text(key);
  std::ranges::replace(text, '_', ' ');
  return text;
}

std::string quote(std::string_view word) {
  size_t shown = std::min(word.size(), kLongestShown);
  while (shown < word.size() && shown > 0 && (static_cast<unsigned char>(word[shown]) & 0xC0U) == 0x80U) {
    --shown;  // do not cut within a UTF-8 character
  }
  std::string text = "'";
  for (const char c : word.substr(0, shown)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) {
      text += fmt::format("\\x{:02x}", byte);
    } else {
      text += c;
    }
  }
  return text + (word.size() > kLongestShown ? "...'" : "'");
}

std::string_view nearest_name(std::string_view word, const std::vector<std::string_view>& known) {
  if (word.empty() || word.size() > kLongestCompared) return {};
  std::string_view nearest;
  for (const std::string_view name : known) {
    if (starts_name(word, name) && (nearest.empty() || name.size() < nearest.size())) nearest = name;
  }
  if (!nearest.empty()) return nearest;
  size_t fewest = std::max<size_t>(1, word.size() / 3) + 1;
  for (const std::string_view name : known) {
    // The distance is at least the difference of the lengths, which rules out most names.
    if (std::max(word.size(), name.size()) - std::min(word.size(), name.size()) >= fewest) continue;
    const size_t distance = edits(word, name);
    if (distance < fewest && distance < name.size()) {
      fewest = distance;
      nearest = name;
    }
  }
  return nearest;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string_view>& known) {
  const std::string_view nearest = nearest_name(word, known);
  return nearest.empty() ? std::string() : fmt::format("; did you mean '{}'?", nearest);
}

std::string joined(std::span<const std::string> texts, std::string_view separator) {
  return joined_range(texts, separator);
}
std::string joined(std::span<const std::string_view> texts, std::string_view separator) {
  return joined_range(texts, separator);
}
std::string joined(const std::set<std::string>& texts, std::string_view separator) {
  return joined_range(texts, separator);
}
std::string joined(std::span<const uint64_t> numbers, std::string_view separator) {
  return joined_range(numbers, separator);
}
std::string joined(std::span<const int64_t> numbers, std::string_view separator) {
  return joined_range(numbers, separator);
}
std::string joined_nonempty(std::vector<std::string> texts, std::string_view separator) {
  std::erase(texts, "");
  return joined(texts, separator);
}

}  // namespace laptime
