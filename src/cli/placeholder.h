// Placeholders of help texts, such as "FILE|none", read back: which words stand for themselves in them.
#pragma once

#include <string_view>
#include <vector>

namespace laptime {

struct PlaceholderWords {
  std::vector<std::string_view> words;  // a word that goes on ends before its placeholder: "every=" of "every=K"
  bool files = false;                   // names of files stand in its place
};

// Alternatives are separated by '|'; capitals are placeholders for something else.
PlaceholderWords words_of_placeholder(std::string_view placeholder);

}  // namespace laptime
