// Canonical words of options, and the canonical text of a point.
#include "config/run_config.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/error.h"
#include "base/ranges.h"
#include "base/words.h"
#include "config/machine.h"

namespace laptime {

RunConfig::RunConfig() = default;
RunConfig::RunConfig(const RunConfig&) = default;
RunConfig::RunConfig(RunConfig&&) noexcept = default;
RunConfig& RunConfig::operator=(const RunConfig&) = default;
RunConfig& RunConfig::operator=(RunConfig&&) noexcept = default;
RunConfig::~RunConfig() = default;

std::string canonical_device_name(std::string_view where, std::string_view word) {
  if (word == "auto" || word == "cpu" || word == "cuda") return std::string(word);
  constexpr size_t kMachineAt = kMachinePrefix.size();
  const bool roofline = word.starts_with(kMachinePrefix) && word.size() > kMachinePrefix.size();
  const std::string_view machine = roofline ? word.substr(kMachinePrefix.size()) : std::string_view();
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-+";
  const bool is_name = machine.find_first_not_of(kLetters) == std::string_view::npos;
  if (!roofline || !(is_name || is_machine_file(machine))) {
    const std::string machines = did_you_mean_machine(word.substr(word.starts_with(kMachinePrefix) ? kMachineAt : 0));
    if (machines.empty())
      reject_word(where, "device", word, {"auto", "cpu", "cuda", "roofline:NAME", "roofline:FILE.toml"});
    throw Error::format("{}: unknown device {}{} (see laptime list devices)", where, quote(word), machines);
  }
  try {
    find_machine(machine);  // rejects an unknown name or an invalid file before anything runs
  } catch (const Error& error) {
    throw Error::format("{}: {}", where, error.what());
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

std::string canonical_loss_scale(std::string_view where, std::string_view word) {
  if (word == "none" || word == "dynamic") return std::string(word);
  double scale = 0;
  const auto [stop, problem] = std::from_chars(word.data(), word.data() + word.size(), scale);
  const bool is_number = problem == std::errc() && stop == word.data() + word.size();
  constexpr double kLargest = 0x1p127;  // largest power of two in float32; its reciprocal is also a float32
  if (!is_number || !(scale >= 1 / kLargest && scale <= kLargest)) {
    throw Error::format("{}: {} is not a loss scale; write none, dynamic or a number such as 1024", where, quote(word));
  }
  return fmt::format("{}", static_cast<float>(scale));
}

LossScaling loss_scaling(std::string_view canonical_word) {
  LossScaling scaling{.is_on = canonical_word != "none", .is_dynamic = canonical_word == "dynamic"};
  if (scaling.is_dynamic) scaling.initial = kInitialLossScale;
  if (scaling.is_on && !scaling.is_dynamic)
    std::from_chars(canonical_word.data(), canonical_word.data() + canonical_word.size(), scaling.initial);
  scaling.initial = static_cast<float>(scaling.initial);  // the step stores the scale as float32
  return scaling;
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
  std::string_view unit(stop, static_cast<size_t>(text.data() + text.size() - stop));
  if (unit.starts_with(' ')) unit.remove_prefix(1);
  constexpr double kLeastWithoutUnit = 1048576;  // no step fits in less, so the user probably forgot a unit
  if (problem == std::errc() && unit.empty() && number > 0 && number < kLeastWithoutUnit) {
    throw Error::format("{}: {} has no unit; did you mean {}{}? (for bytes, write {}B)", where, quote(text), text,
                        number < 1024 ? "GiB" : "MiB", text);
  }
  if (problem == std::errc()) {
    for (const Unit& known : kUnits) {
      const double bytes = number * known.bytes;
      if (unit == known.name && bytes >= 1 && bytes < 9e18) return static_cast<int64_t>(bytes);
    }
  }
  throw Error::format("{}: {} is not a size in bytes; write for example 8GiB, 512MiB or 2000000", where, quote(text));
}

OpDelay parse_delay(std::string_view where, std::string_view text) {
  struct Scale {
    std::string_view unit;
    double seconds;
  };
  constexpr std::array kScales{Scale{"ns", 1e-9}, Scale{"us", 1e-6}, Scale{"ms", 1e-3}, Scale{"s", 1}};
  constexpr double kLongest = 10;
  const size_t equals = std::min(text.find('='), text.size());
  const std::string_view time = text.substr(std::min(equals + 1, text.size()));
  double value = 0;
  const auto [stop, problem] = std::from_chars(time.data(), time.data() + time.size(), value);
  const std::string_view unit = time.substr(static_cast<size_t>(stop - time.data()));
  const Scale* const scale = find_in(kScales, unit, &Scale::unit);
  const bool is_time = problem == std::errc() && scale != nullptr;
  if (equals == 0 || !is_time || !(value >= 0) || value * scale->seconds > kLongest) {
    throw Error::format("{}: {} is not OP=TIME; give the name of an op and a time up to 10 s, for example matmul=20us",
                        where, quote(text));
  }
  return {std::string(text.substr(0, equals)), Seconds{value * scale->seconds}};
}

ModelConfig RunConfig::step_model() const {
  ModelConfig cropped = model;
  cropped.context_length = step_context();
  if (pass == Pass::kInference) cropped.embd_pdrop = cropped.attn_pdrop = cropped.resid_pdrop = 0;
  return cropped;
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
