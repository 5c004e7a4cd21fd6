// Replaces the words of a label pattern by the values of options.
#include "config/label.h"

#include "base/error.h"
#include "base/words.h"
#include "config/option_table.h"
#include "config/output_config.h"

namespace laptime {
namespace {

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
  throw Error::format("{}: unknown word {} in a label{}; write options of bench, or mixed, in braces", where,
                      quote(word), did_you_mean(word, known));
}

}  // namespace

std::string make_label(std::string_view pattern, const RunConfig& config, std::string_view where) {
  std::string label;
  while (!pattern.empty()) {
    const size_t brace = pattern.find_first_of("{}");
    label += pattern.substr(0, brace);
    if (brace == std::string_view::npos) break;
    const size_t end = pattern.find_first_of("{}", brace + 1);
    if (pattern[brace] == '}' || end == std::string_view::npos || pattern[end] == '{') {
      throw Error::format("{}: unmatched brace in {}; write words as {{model}}", where, quote(pattern));
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
