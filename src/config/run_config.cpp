// Validity and the canonical text of a point.
#include "config/run_config.h"

#include <charconv>

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

std::string canonical_recompute(std::string_view where, std::string_view word) {
  const std::vector<std::string_view> known{"none", "block", "every=K", "auto"};
  constexpr std::string_view kEvery = "every=";
  if (word == "none" || word == "block" || word == "auto") return std::string(word);
  if (word.substr(0, kEvery.size()) != kEvery) reject_word(where, "recompute", word, known);
  int64_t layers = 0;
  const Option count{
      .flag = "recompute", .key = "recompute", .group = {}, .unit = "layers", .help = {}, .min = 1, .max = 1e6};
  parse_value(count, where, word.substr(kEvery.size()), layers);
  return fmt::format("{}{}", kEvery, layers);
}

int64_t recompute_group(std::string_view word) {
  if (word == "block") return 1;
  const size_t equals = word.find('=');
  int64_t layers = 0;
  if (equals != std::string_view::npos) std::from_chars(word.data() + equals + 1, word.data() + word.size(), layers);
  return layers;
}

int64_t parse_bytes(std::string_view where, std::string_view text) {
  struct Unit {
    std::string_view name;
    double bytes;
  };
  constexpr Unit kUnits[] = {{"", 1},      {"B", 1},      {"kB", 1e3},      {"MB", 1e6},     {"GB", 1e9},
                             {"TB", 1e12}, {"KiB", 1024}, {"MiB", 1048576}, {"GiB", 0x1p30}, {"TiB", 0x1p40}};
  double number = 0;
  const auto [stop, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit(stop, static_cast<size_t>(text.data() + text.size() - stop));
  if (problem == std::errc()) {
    for (const Unit& known : kUnits) {
      const double bytes = number * known.bytes;
      if (unit == known.name && bytes >= 1 && bytes < 9e18) return static_cast<int64_t>(bytes);
    }
  }
  throw Error::format("{}: {} is not a size; write e.g. 8GiB, 512MiB or 2000000", where, quote(text));
}

std::string canonical_bytes(std::string_view where, std::string_view text) {
  parse_bytes(where, text);
  return std::string(text);
}

ModelConfig RunConfig::step_model() const {
  ModelConfig cropped = model;
  cropped.context_length = step_context();
  return cropped;
}

void validate(const RunConfig& config) {
  validate(config.model);
  const bool attention = config.model.is_attention();
  RunConfig::visit_fields(config, [&](const Option& option, const auto& field) {
    if (!attention || option.of_attention) check_range(option, field);
  });
  if (attention && config.pass == Pass::kStep) {
    throw Error("model attention has no optimizer; use --pass forward_backward, forward, backward or inference");
  }
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
  if (config.mode != Mode::kCompile && (config.keep || config.lower)) {
    throw Error("--keep and --lower choose among the composites of --mode compile; eager lowers what a framework does");
  }
  if (config.keep && config.lower) throw Error("--keep and --lower are each other's opposite; give one of them");
  if (config.optimizer_in_backward) {
    if (config.pass != Pass::kStep) throw Error("--optimizer-in-backward needs --pass step");
    if (config.clip_norm) {
      throw Error("--optimizer-in-backward cannot clip: the norm of all gradients is known only after backward");
    }
    if (config.accumulate) throw Error("--optimizer-in-backward keeps no gradient, which --accumulate adds to");
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
