// Reads the size and its changed dimensions from the name of a record.
#include "report/model_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "config/model_presets.h"

namespace laptime {
namespace {

// A dimension by the tag of its option in names of points, and the words around its value.
struct Dimension {
  std::string_view tag;
  std::string_view before;
  std::string_view after;
};
constexpr std::array kDimensions{Dimension{"layers", "", " layers"}, Dimension{"d_model", "d_model ", ""},
                                 Dimension{"d_ff", "d_ff ", ""}, Dimension{"heads", "", " heads"}};

// The value of a tag in "step/model:small/ctx:256"; empty where the name has none.
std::string_view tagged(std::string_view name, std::string_view tag) {
  while (!name.empty()) {
    const size_t slash = name.find('/');
    const std::string_view part = name.substr(0, slash);
    if (part.size() > tag.size() && part.starts_with(tag) && part[tag.size()] == ':')
      return part.substr(tag.size() + 1);
    name = slash == std::string_view::npos ? std::string_view() : name.substr(slash + 1);
  }
  return {};
}

// The named size that a custom model was made from; empty for every other record.
std::string_view changed_size(const Record& record) {
  if (record.config.text("model") != kCustomModel) return {};
  const std::string_view word = tagged(record.name, "model");
  const auto presets = model_presets();
  const bool is_size =
      std::any_of(presets.begin(), presets.end(), [&](const ModelPreset& preset) { return preset.name == word; });
  return is_size ? word : std::string_view();
}

}  // namespace

std::string model_text(const Record& record) {
  const std::string_view size = changed_size(record);
  if (size.empty()) return record.config.text("model");
  std::string text(size);
  for (const Dimension& dimension : kDimensions) {
    const std::string_view value = tagged(record.name, dimension.tag);
    if (value.empty()) continue;
    std::string_view after = dimension.after;
    if (value == "1" && after.ends_with('s')) after.remove_suffix(1);
    text += fmt::format(", {}{}{}", dimension.before, value, after);
  }
  return text;
}

std::vector<std::string> model_words(const Record& record) {
  const std::string_view size = changed_size(record);
  if (size.empty()) return {record.config.text("model")};
  return {model_text(record), std::string(size), std::string(kCustomModel)};
}

}  // namespace laptime
