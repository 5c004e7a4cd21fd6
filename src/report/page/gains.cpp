// Finds the pairs, and says what follows from their ratios.
#include "report/page/gains.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "base/words.h"
#include "record/metrics.h"
#include "report/speedup.h"

namespace laptime {
namespace {

constexpr const char* kMode = "mode";
constexpr const char* kNumberType = "dtype";

// The name of a point without the word of one value, and without spaces that are left over.
std::string without_word(const std::string& name, std::string_view word) {
  std::string kept;
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find(' ', begin), name.size());
    const std::string_view one = std::string_view(name).substr(begin, end - begin);
    if (one != word && !one.empty()) kept += (kept.empty() ? "" : " ") + std::string(one);
    begin = end + 1;
  }
  return kept;
}

std::string doubt_of(const Record& from, const Record& to, const OptionGains& option) {
  if (is_predicted(to)) return "";
  const std::string of_from = verdict_against_comparing(from);
  const std::string of_to = verdict_against_comparing(to);
  if (!of_from.empty() && !of_to.empty()) {
    return of_from == of_to ? fmt::format("the verdict on both is {}", of_to)
                            : fmt::format("the verdict on {} is {}, on {} {}", option.from, of_from, option.to, of_to);
  }
  if (!of_from.empty()) return fmt::format("the verdict on {} is {}", option.from, of_from);
  if (!of_to.empty()) return fmt::format("the verdict on {} is {}", option.to, of_to);
  return from.run == to.run ? "" : "two commands measured the two times";
}

// One system on one machine that ran both, or one device for which both are predicted.
bool can_be_compared(const Record& from, const Record& to) {
  return from.fingerprint == to.fingerprint && system_of(from) == system_of(to) &&
         is_predicted(from) == is_predicted(to);
}

OptionGains gains_of(const PageView& view, const char* option, std::string from, std::string to) {
  OptionGains all{.option = option, .from = std::move(from), .to = std::move(to), .gains = {}};
  for (const Record* const after : view.timed()) {
    if (after->config.text(option) != all.to) continue;
    const std::string rest = rest_of_config(*after, option);
    const auto before = std::find_if(view.timed().begin(), view.timed().end(), [&](const Record* one) {
      return one->config.text(option) == all.from && can_be_compared(*one, *after) &&
             rest_of_config(*one, option) == rest;
    });
    if (before == view.timed().end()) continue;
    const std::optional<TimeRatio> ratio = ratio_of_medians(*(*before)->main_time(), *after->main_time());
    if (!ratio) continue;
    Gain gain{*before, after, without_word(view.name(*after), all.to), *ratio, doubt_of(**before, *after, all)};
    if (!gain.doubt.empty() || is_predicted(*after)) gain.ratio.interval.reset();
    all.gains.push_back(std::move(gain));
  }
  std::stable_sort(all.gains.begin(), all.gains.end(),
                   [](const Gain& a, const Gain& b) { return rank_of_pass(*a.to) > rank_of_pass(*b.to); });
  return all;
}

std::string range_text(const std::vector<double>& factors) {
  const auto [low, high] = std::minmax_element(factors.begin(), factors.end());
  return factors.size() == 1 ? fmt::format("{:.2f}", *low) : fmt::format("{:.2f} to {:.2f}", *low, *high);
}

}  // namespace

std::string rest_of_config(const Record& record, std::string_view option) {
  Json config = record.config.json();
  for (const std::string_view other : {option, std::string_view("warmup"), std::string_view("steps")})
    config.erase(std::string(other));
  return config.dump(-1, ' ', true, Json::error_handler_t::replace);
}

std::string Gain::text() const {
  if (!doubt.empty()) return fmt::format("~{:.2f} (rough: {})", ratio.value, doubt);
  if (is_predicted(*to)) return fmt::format("{:.2f} (predicted)", ratio.value);
  if (!ratio.interval) return fmt::format("{:.2f}", ratio.value);
  const bool holds_one = ratio.interval->low <= 1 && ratio.interval->high >= 1;
  return fmt::format("{:.2f} (95 %: {:.2f} to {:.2f}{})", ratio.value, ratio.interval->low, ratio.interval->high,
                     holds_one ? "; no difference seen" : "");
}

std::string OptionGains::conclusion() const {
  std::vector<double> faster;
  std::vector<double> slower;
  std::vector<double> rough;
  size_t equal = 0;
  for (const Gain& gain : gains) {
    const double low = gain.ratio.interval ? gain.ratio.interval->low : gain.ratio.value;
    const double high = gain.ratio.interval ? gain.ratio.interval->high : gain.ratio.value;
    if (!gain.doubt.empty()) {
      rough.push_back(gain.ratio.value);
    } else if (low > 1) {
      faster.push_back(gain.ratio.value);
    } else if (high < 1) {
      slower.push_back(gain.ratio.value);
    } else {
      ++equal;
    }
  }
  const std::string pairs = counted(gains.size(), "pair");
  if (rough.size() == gains.size()) {
    constexpr double kMuch = 1.2;  // more than unsteady times usually differ by
    const auto [low, high] = std::minmax_element(rough.begin(), rough.end());
    if (*low > kMuch || *high < 1 / kMuch) {
      return fmt::format(
          "{} is {} than {} here, but how much cannot be said: the factors of all {} of points (~{}) are "
          "rough; laptime compare tells it in spite of unsteady times",
          to, *low > kMuch ? "faster" : "slower", from, pairs, range_text(rough));
    }
    return fmt::format(
        "whether {} is faster than {} cannot be said: the factors of all {} of points (~{}) are rough; laptime compare "
        "tells a difference in spite of unsteady times",
        to, from, pairs, range_text(rough));
  }
  std::vector<std::string> parts;
  if (!faster.empty())
    parts.push_back(fmt::format("faster in {}, {} times as fast", faster.size(), range_text(faster)));
  if (!slower.empty())
    parts.push_back(fmt::format("slower in {}, {} times as fast", slower.size(), range_text(slower)));
  if (equal > 0) parts.push_back(fmt::format("no difference is seen in {}", equal));
  if (!rough.empty()) parts.push_back(fmt::format("{} rough (~{})", rough.size(), range_text(rough)));
  const std::string_view worth = slower.empty() && equal == 0       ? "is worth it here by time"
                                 : faster.empty() && equal == 0     ? "costs time here"
                                 : faster.empty() && slower.empty() ? "makes no difference here that can be seen"
                                 : faster.empty()                   ? "gains nothing here"
                                                                    : "is worth it for some sizes only";
  return fmt::format("{} {}: of {} with {} it is {}", to, worth, pairs, from, fmt::join(parts, "; "));
}

std::vector<OptionGains> option_gains(const PageView& view) {
  std::set<std::string> types;
  for (const Record* const record : view.timed()) types.insert(record->config.text(kNumberType));
  std::vector<OptionGains> all;
  const auto add = [&](OptionGains gains) {
    if (!gains.gains.empty()) all.push_back(std::move(gains));
  };
  add(gains_of(view, kMode, "eager", "compile"));
  for (const std::string& type : types) {
    if (type != "float32") add(gains_of(view, kNumberType, "float32", type));
  }
  return all;
}

std::vector<std::string> gain_sentences(const PageView& view) {
  constexpr size_t kMost = 8;  // factors of a sentence
  std::vector<std::string> sentences;
  if (view.headline() == nullptr) return sentences;
  const int pass = rank_of_pass(*view.headline());
  for (const OptionGains& option : option_gains(view)) {
    std::vector<std::string> factors;
    bool some_rough = false;
    size_t left_out = 0;
    for (const Gain& gain : option.gains) {
      if (rank_of_pass(*gain.to) != pass) continue;
      if (factors.size() == kMost) {
        ++left_out;
        continue;
      }
      some_rough = some_rough || !gain.doubt.empty();
      std::string interval =
          gain.ratio.interval ? fmt::format(" ({:.2f} .. {:.2f})", gain.ratio.interval->low, gain.ratio.interval->high)
                              : "";
      factors.push_back(fmt::format("{}{}{:.2f}{}", gain.name.empty() ? "" : gain.name + " ",
                                    gain.doubt.empty() ? "" : "~", gain.ratio.value, interval));
    }
    if (factors.empty()) continue;
    sentences.push_back(fmt::format(
        "Gain of {} over {}, times as fast: {}{}.{}", option.to, option.from, fmt::join(factors, ", "),
        left_out > 0 ? fmt::format(", and {} more below", left_out) : "",
        some_rough ? " ~ is rough: a verdict speaks against the time of one side; the chart of gains says which."
                   : ""));
  }
  return sentences;
}

}  // namespace laptime
