// Parses names of points, "step/model:small/ctx:64", and turns them into readable words; also builds labels from a
// pattern such as "{model}_{pass}_warmup_{warmup}_mixed_{mixed}".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/ranges.h"

namespace laptime {

struct RunConfig;

// Splits a point's name, such as "step/model:small/mode:eager", at its slashes.
std::vector<std::string_view> words_in(std::string_view name);
// The words that all names have in common, in the order of the first name and joined by slashes:
// "model:small/mode:eager". Empty for a single name.
std::string common_words(const std::vector<std::string>& names);
template <class Points, class Name>
std::string common_words(const Points& points, const Name& name_of) {
  return common_words(mapped(points, name_of));
}
// The name without the words of `left_out`, or the whole name if nothing would be left.
std::string without_words(const std::string& name, const std::string& left_out);
// "small ctx 64 compile" for "model:small/ctx:64/mode:compile".
std::string spoken_name(const std::string& name);
// Omits the words of `left_out`, as without_words() does.
std::string spoken_name(const std::string& name, const std::string& left_out);
// "float32" for the word "dtype:float32", "2 layers" for "layers:2", "ctx 64" for "ctx:64".
std::string spoken_word(std::string_view word);
// The value of a tag in a point's name: "small" for the tag "model"; empty if the name lacks the tag.
std::string_view tagged(std::string_view name, std::string_view tag);

// Replaces each {word} by the value of the option with that flag or key; {mixed} is true unless the arithmetic is
// float32 or tf32. An unknown word, an unmatched brace or a label of more than 256 bytes throws Error with a message
// that starts with `where`.
std::string make_label(std::string_view pattern, const RunConfig& config, std::string_view where);

}  // namespace laptime
