// Turns names into readable words, and replaces words in label patterns by option values.
#include "config/label.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/proc_text.h"
#include "base/ranges.h"
#include "base/words.h"
#include "config/option_table.h"
#include "config/output_config.h"
#include "config/run_config.h"

namespace laptime {
namespace {

bool has_word(std::string_view name, std::string_view word) { return is_among(word, words_in(name)); }

constexpr std::string_view kMixed = "mixed";
constexpr size_t kMaxLabelBytes = 256;

std::string value_of(std::string_view word, const RunConfig& config, std::string_view where) {
  if (word == kMixed) return is_mixed(config.dtype) ? "true" : "false";
  if (const std::optional<std::string> text = option_text(config, meant_flag(word))) return *text;
  std::vector<std::string_view> known{kMixed};
  RunConfig::visit_fields(config, [&](const Option& option, const auto&) {
    known.push_back(option.flag);
    known.push_back(option.key);
  });
  throw Error::format("{}: unknown word {} in a label{}; write options of laptime bench in braces, such as {{model}}",
                      where, quote(word), did_you_mean(word, known));
}

}  // namespace

std::vector<std::string_view> words_in(std::string_view name) { return split(name, '/'); }

std::string common_words(const std::vector<std::string>& names) {
  if (names.size() < 2) return "";
  std::vector<std::string_view> words = words_in(names.front());
  for (const std::string& name : names)
    std::erase_if(words, [&](std::string_view word) { return !has_word(name, word); });
  return joined(words, "/");
}

std::string without_words(const std::string& name, const std::string& left_out) {
  std::vector<std::string_view> words = words_in(name);
  std::erase_if(words, [&](std::string_view word) { return has_word(left_out, word); });
  return words.empty() ? name : joined(words, "/");
}

std::string spoken_name(const std::string& name) {
  std::string text;
  for (std::string_view word : words_in(name)) {
    constexpr std::string_view kPredicted = "device:roofline:";
    if (word.starts_with(kPredicted)) word.remove_prefix(kPredicted.size());
    text += (text.empty() ? "" : " ") + spoken_word(word);
  }
  return text;
}

std::string spoken_name(const std::string& name, const std::string& left_out) {
  return spoken_name(without_words(name, left_out));
}

std::string_view tagged(std::string_view name, std::string_view tag) {
  for (const std::string_view word : words_in(name)) {
    if (word.starts_with(tag) && word.substr(tag.size()).starts_with(':')) return word.substr(tag.size() + 1);
  }
  return {};
}

std::string spoken_word(std::string_view word) {
  const size_t colon = word.find(':');
  if (colon == std::string_view::npos) return std::string(word);
  const std::string_view tag = word.substr(0, colon);
  const std::string_view value = word.substr(colon + 1);
  for (const std::string_view plain : {"model", "dtype", "mode", "device"}) {
    if (tag == plain) return std::string(value);
  }
  if (tag == "crop" && value != "none") return fmt::format("cropped to the first {} positions", value);
  for (const std::string_view plural : {"layers", "heads", "threads", "steps"}) {
    if (tag == plural) return fmt::format("{} {}", value, plural.substr(0, plural.size() - (value == "1" ? 1 : 0)));
  }
  return fmt::format("{} {}", tag, value);
}

std::string make_label(std::string_view pattern, const RunConfig& config, std::string_view where) {
  std::string label;
  while (!pattern.empty()) {
    const size_t brace = pattern.find_first_of("{}");
    label += pattern.substr(0, brace);
    if (brace == std::string_view::npos) break;
    const size_t end = pattern.find_first_of("{}", brace + 1);
    if (pattern[brace] == '}' || end == std::string_view::npos || pattern[end] == '{') {
      throw Error::format("{}: unmatched brace in {}; write placeholders in braces, such as {{model}}", where,
                          quote(pattern));
    }
    label += value_of(pattern.substr(brace + 1, end - brace - 1), config, where);
    pattern.remove_prefix(end + 1);
  }
  if (label.size() > kMaxLabelBytes) {
    throw Error::format("{}: the label has {} bytes, more than {}; use fewer words", where, label.size(),
                        kMaxLabelBytes);
  }
  return label;
}

std::string canonical_label_pattern(std::string_view where, std::string_view pattern) {
  make_label(pattern, RunConfig{}, where);
  return std::string(pattern);
}

}  // namespace laptime
