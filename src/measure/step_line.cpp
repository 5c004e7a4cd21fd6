// Parses lines with steps, and checks the value of each key.
#include "measure/step_line.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>

#include "base/error.h"
#include "base/json.h"
#include "base/json_size.h"
#include "base/ranges.h"
#include "base/words.h"

namespace laptime {
namespace {

constexpr double kNanosecond = 1e-9;
constexpr double kLongest = 1e18;  // ns; about 30 years
// Phases that fill a step may add up to slightly more than the step, because each number is rounded.
constexpr double kRounding = 1e-12;

constexpr const char* kStep = "step";
constexpr const char* kLoss = "loss";
constexpr const char* kPhases = "phases";
constexpr size_t kMostOwnPhases = 16;
constexpr std::array kTimedPhases{Phase::kForward, Phase::kBackward, Phase::kOptimizer};
struct CountKey {
  const char* name;
  std::optional<int64_t> StepLine::*field;
};
constexpr std::array kCounts{CountKey{"begin", &StepLine::begin}, CountKey{"peak_bytes", &StepLine::peak_bytes},
                             CountKey{"peak_rss_bytes", &StepLine::peak_rss_bytes}};

std::optional<Phase> timed_phase(std::string_view name) {
  const auto* const found =
      std::find_if(kTimedPhases.begin(), kTimedPhases.end(), [&](Phase phase) { return name_of(phase) == name; });
  return found == kTimedPhases.end() ? std::nullopt : std::optional(*found);
}

std::vector<std::string_view> known_keys() {
  std::vector<std::string_view> keys{kStep, kLoss, kPhases};
  for (const Phase phase : kTimedPhases) keys.emplace_back(name_of(phase));
  for (const CountKey& key : kCounts) keys.emplace_back(key.name);
  return keys;
}

[[noreturn]] void reject_value(std::string_view key, std::string_view expected, const Json& found) {
  throw Error::format("'{}' must be {}, found {}", key, expected, quote(found.dump()));
}

// Python writes numbers that are not finite as NaN, Infinity and -Infinity, which JSON lacks. NaN means no value, like
// null; an infinite number of either sign becomes the string "Infinity", which is allowed only for a loss.
std::string without_words_of_python(std::string_view text) {
  constexpr std::string_view kInfinity = "Infinity";
  constexpr std::string_view kNan = "NaN";
  std::string json;
  bool in_text = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const std::string_view rest = text.substr(i);
    if (in_text && text[i] == '\\' && i + 1 < text.size()) {  // the next character is escaped
      json += text.substr(i, 2);
      ++i;
      continue;
    }
    if (text[i] == '"') in_text = !in_text;
    if (!in_text && rest.starts_with(kNan)) {
      json += "null";
      i += kNan.size() - 1;
    } else if (!in_text && (rest.starts_with(kInfinity) || rest.starts_with("-Infinity"))) {
      json += fmt::format("\"{}\"", kInfinity);
      i += kInfinity.size() - (text[i] == '-' ? 0 : 1);
    } else {
      json += text[i];
    }
  }
  return json;
}

Seconds duration_of(std::string_view key, const Json& value) {
  const double nanoseconds = value.is_number() ? value.get<double>() : -1;
  if (!(nanoseconds >= 0 && nanoseconds <= kLongest)) reject_value(key, "a number of nanoseconds, at most 1e18", value);
  return Seconds{nanoseconds * kNanosecond};
}

int64_t count_of(std::string_view key, const Json& value) {
  const bool fits =
      value.is_number_unsigned() && value.get<uint64_t>() <= uint64_t{std::numeric_limits<int64_t>::max()};
  if (!fits) reject_value(key, "a whole number from 0 to 2^63 - 1", value);
  return value.get<int64_t>();
}

double loss_of(const Json& value) {
  if (value == "Infinity") return std::numeric_limits<double>::infinity();
  if (!value.is_number()) reject_value(kLoss, "a number, or null if there is no loss", value);
  return value.get<double>();
}

// True if the name is valid for a phase of a record, such as "data" or "all_reduce".
bool is_phase_name(std::string_view name) {
  constexpr size_t kLongestName = 32;
  constexpr std::array<std::string_view, 4> kTaken{"step", "inference", "forward_backward", "residue"};
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  return !name.empty() && name.size() <= kLongestName && name.front() >= 'a' &&
         std::all_of(name.begin(), name.end(), is_letter) && !is_among(name, kTaken);
}

// The phases of the line by name: phases with a key of their own, and the phases in `phases`.
std::vector<std::pair<std::string, Json>> phases_of(const Json& line) {
  std::vector<std::pair<std::string, Json>> phases;
  for (const Phase phase : kTimedPhases) {
    if (const Json* const value = line.find(name_of(phase)); value != nullptr && !value->is_null())
      phases.emplace_back(name_of(phase), *value);
  }
  const Json* const named = line.find(kPhases);
  if (named == nullptr || named->is_null()) return phases;
  const auto timed = mapped<std::string_view>(kTimedPhases, [](Phase phase) { return name_of(phase); });
  if (!named->is_object()) reject_value(kPhases, "an object that maps phase names to nanoseconds", *named);
  for (const auto& [name, value] : named->items()) {
    if (const std::string meant = did_you_mean(name, timed); !meant.empty() && !timed_phase(name))
      throw Error::format("unknown phase {}{}", quote(name), meant);
    if (!is_phase_name(name)) {
      throw Error::format(
          "{} is not a valid phase name; begin with a letter, use up to 32 characters from a-z, 0-9 and _, and do not "
          "use step, inference, forward_backward or residue",
          quote(name));
    }
    const bool is_known =
        std::any_of(phases.begin(), phases.end(), [&, &name = name](const auto& phase) { return phase.first == name; });
    if (is_known) throw Error::format("has the phase {} twice; give each phase once", quote(name));
    if (!value.is_null()) phases.emplace_back(name, value);
  }
  return phases;
}

Json parsed_line(std::string_view line) {
  const std::string text = line.size() > kMaxStepLineBytes ? std::string(line) : without_words_of_python(line);
  if (text.size() > kMaxStepLineBytes)
    throw Error::format("{} bytes exceed the limit of {} for a step", text.size(), kMaxStepLineBytes);
  if (json_size(text).depth > 2) throw Error("the phases of a step may not contain lists or objects");
  std::string repeated;
  Json json;
  try {
    json = Json::parse(text, &repeated);
  } catch (const JsonError&) {}
  if (!json.is_object()) throw Error::format("{} is not a JSON object; write {{\"step\": NANOSECONDS}}", quote(text));
  if (!repeated.empty()) throw Error::format("has the key {} twice; give each key once", quote(repeated));
  return json;
}

}  // namespace

StepLine parse_step_line(std::string_view text) {
  const Json json = parsed_line(text);
  const std::vector<std::string_view> known = known_keys();
  StepLine line;
  for (const auto& [key, value] : json.items()) {
    line.keys.insert(key);
    if (value.is_null() && key != kStep && is_among(key, known)) continue;
    if (key == kStep) {
      line.step = duration_of(key, value);
      continue;
    }
    if (key == kLoss) {
      line.loss = loss_of(value);
      continue;
    }
    bool is_known = false;
    for (const CountKey& one : kCounts) {
      if (key != one.name) continue;
      line.*one.field = count_of(key, value);
      is_known = true;
    }
    is_known = is_known || timed_phase(key) || key == kPhases;
    if (!is_known) throw Error::format("unknown key {}{}", quote(key), did_you_mean(key, known));
  }
  if (!line.keys.contains(kStep)) throw Error("'step' is missing; give the nanoseconds of the whole step");
  if (line.step <= Seconds{}) reject_value(kStep, "more than 0", json.at(kStep));
  double phases = 0;
  for (const auto& [name, value] : phases_of(json)) {
    const Seconds seconds = duration_of(name, value);
    if (const std::optional<Phase> timed = timed_phase(name)) {
      line.phases.emplace_back(*timed, seconds);
    } else {
      line.own_phases.emplace_back(name, seconds);
      line.keys.insert(fmt::format("{}.{}", kPhases, name));
    }
    phases += value.get<double>();
  }
  if (line.own_phases.size() > kMostOwnPhases)
    throw Error::format("has {} phases other than forward, backward and optimizer; give at most {}",
                        line.own_phases.size(), kMostOwnPhases);
  std::sort(line.phases.begin(), line.phases.end());
  if (phases > json.at(kStep).get<double>() * (1 + kRounding)) {
    throw Error::format("the phases take {}, which is longer than the step ({})", format_seconds(phases * kNanosecond),
                        format_seconds(line.step.count()));
  }
  return line;
}

}  // namespace laptime
