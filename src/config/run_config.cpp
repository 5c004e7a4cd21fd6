// Validity and the canonical text of a point.
#include "config/run_config.h"

#include "base/error.h"
#include "base/words.h"

namespace laptime {

std::string canonical_device_name(std::string_view where, std::string_view word) {
  constexpr std::string_view kPrefix = "roofline:";
  const std::vector<std::string_view> known{"auto", "cpu", "cuda", "roofline:NAME"};
  for (const std::string_view name : known) {
    if (word == name && word != known.back()) return std::string(word);
  }
  const bool roofline = word.substr(0, kPrefix.size()) == kPrefix && word.size() > kPrefix.size();
  const std::string_view machine = roofline ? word.substr(kPrefix.size()) : std::string_view();
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-+";
  if (!roofline || machine.find_first_not_of(kLetters) != std::string_view::npos) {
    reject_word(where, "device", word, known);
  }
  return std::string(word);
}

ModelConfig RunConfig::step_model() const {
  ModelConfig cropped = model;
  cropped.context_length = step_context();
  return cropped;
}

void validate(const RunConfig& config) {
  validate(config.model);
  RunConfig::visit_fields(config, [](const Option& option, const auto& field) { check_range(option, field); });
  if (config.crop_context) {
    if (is_modern(config.model.edition)) {
      throw Error::format("--crop-context needs a position table, which edition {} has not; use --context",
                          name_of(config.model.edition));
    }
    if (*config.crop_context > config.model.context_length) {
      throw Error::format("--crop-context {} is more than the model's context {}", *config.crop_context,
                          config.model.context_length);
    }
  }
  if (config.warmup.has_value() != config.steps.has_value()) {
    throw Error("--warmup and --steps are numbers together, or auto together");
  }
  if (config.data.empty() && config.data_format != DataFormat::kAuto) {
    throw Error("--data-format needs --data FILE: random tokens have no format");
  }
}

std::string canonical_text(const RunConfig& config) {
  std::string text;
  RunConfig::visit_fields(config, [&](const Option& option, const auto& field) {
    if (!option.changes_result) return;
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", option.key, text_of(option, field));
  });
  return text;
}

}  // namespace laptime
