// Checks words that become parts of names.
#include "config/system_config.h"

#include <algorithm>
#include <cctype>

#include "base/error.h"
#include "base/words.h"

namespace laptime {

std::string canonical_name_part(std::string_view where, std::string_view word) {
  constexpr size_t kLongest = 64;
  const bool is_plain = std::all_of(word.begin(), word.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("._+-").find(c) != std::string_view::npos;
  });
  if (word.empty() || word.size() > kLongest || !is_plain) {
    throw Error::format("{}: {} cannot be part of a record's name; give at most {} letters, digits and . _ + -", where,
                        quote(word), kLongest);
  }
  return std::string(word);
}

std::string canonical_system(std::string_view where, std::string_view word) {
  std::string system = canonical_name_part(where, word);
  if (system == "laptime")
    throw Error::format("{}: laptime bench measures laptime's own steps; give the name of another program", where);
  return system;
}

}  // namespace laptime
