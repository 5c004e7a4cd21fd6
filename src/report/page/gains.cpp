// Finds the pairs, and says what follows from their ratios.
#include "report/page/gains.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/units.h"
#include "base/words.h"
#include "record/metrics.h"
#include "report/page/page_sections.h"
#include "report/page/page_view.h"
#include "report/page/page_words.h"
#include "report/speedup.h"

namespace laptime {
namespace {

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

// One system on one machine that ran both, or one device for which both are predicted.
bool can_be_compared(const Record& from, const Record& to) {
  return from.fingerprint == to.fingerprint && system_of(from) == system_of(to) &&
         is_predicted(from) == is_predicted(to);
}

// The values of an option of both points of a pair.
struct Change {
  const char* option;
  std::string from, to;
};

// Pairs that differ in one option or in two.
OptionGains gains_of(const PageView& view, const std::vector<Change>& changes) {
  std::vector<std::string> from;
  std::vector<std::string> to;
  for (const Change& change : changes) {
    from.push_back(change.from);
    to.push_back(change.to);
  }
  OptionGains all{.option = changes.size() == 1 ? changes.front().option : kBoth,
                  .from = fmt::format("{}", fmt::join(from, " ")),
                  .to = fmt::format("{}", fmt::join(to, " ")),
                  .gains = {}};
  const auto has = [&](const Record& record, const std::vector<std::string>& values) {
    for (size_t i = 0; i < changes.size(); ++i) {
      if (record.config.text(changes[i].option) != values[i]) return false;
    }
    return true;
  };
  const auto rest_of = [&](const Record& record) {
    return rest_of_config(record, changes.front().option, changes.back().option);
  };
  std::map<std::string, std::vector<const Record*>> before;  // by all that is not the options
  for (const Record* const record : view.timed()) {
    if (has(*record, from)) before[rest_of(*record)].push_back(record);
  }
  for (const Record* const after : view.timed()) {
    if (!has(*after, to)) continue;
    const std::vector<const Record*>& alike = before[rest_of(*after)];
    const auto found =
        std::find_if(alike.begin(), alike.end(), [&](const Record* one) { return can_be_compared(*one, *after); });
    if (found == alike.end()) continue;
    const std::optional<TimeRatio> ratio = ratio_of_medians(*(*found)->main_time(), *after->main_time());
    if (!ratio) continue;
    std::string name = view.name(*after);
    for (const std::string& value : to) name = without_word(name, value);
    Gain gain{*found,
              after,
              std::move(name),
              *ratio,
              is_predicted(*after) ? "" : ratio_doubt(view, {**found, all.from}, {*after, all.to}),
              is_beyond_doubt(ratio->value, *after->main_time(), *(*found)->main_time())};
    if (!gain.doubt.empty() || is_predicted(*after)) gain.ratio.interval.reset();
    all.gains.push_back(std::move(gain));
  }
  std::stable_sort(all.gains.begin(), all.gains.end(),
                   [](const Gain& a, const Gain& b) { return rank_of_pass(*a.to) > rank_of_pass(*b.to); });
  return all;
}

std::string range_of_factors(const std::vector<double>& factors) {
  return range_text(factors, [](double factor) { return fmt::format("{:.2f}", factor); });
}

}  // namespace

std::string rest_of_config(const Record& record, std::string_view option, std::string_view another) {
  Json config = record.config.json();
  for (const std::string_view other : {option, another, std::string_view("warmup"), std::string_view("steps")})
    config.erase(std::string(other));
  return config.dump(-1, ' ', true, Json::error_handler_t::replace);
}

std::string factor_text(const TimeRatio& ratio, const std::string& doubt, bool predicted) {
  if (!doubt.empty()) return fmt::format("{}{:.2f} (rough: {})", kRoughMark, ratio.value, doubt);
  if (predicted) return fmt::format("{:.2f} (predicted)", ratio.value);
  if (!ratio.interval) return fmt::format("{:.2f}", ratio.value);
  const bool holds_one = ratio.interval->low <= 1 && ratio.interval->high >= 1;
  return fmt::format("{:.2f} (95 %: {:.2f} to {:.2f}{})", ratio.value, ratio.interval->low, ratio.interval->high,
                     holds_one ? "; no difference seen" : "");
}

double Gain::saved() const { return from->main_time()->median - to->main_time()->median; }

std::vector<PhaseGain> phase_gains(const Gain& gain) {
  std::vector<PhaseGain> gains;
  for (const std::string_view phase : kStepPhases) {
    const TimeStats* const from = time_of_part(*gain.from, phase);
    const TimeStats* const to = time_of_part(*gain.to, phase);
    if (from == nullptr || to == nullptr || to == gain.to->main_time() || to->median <= 0) continue;
    gains.push_back({std::string(phase), from->median, to->median});
  }
  return gains;
}

std::string phase_gains_text(const Gain& gain) {
  std::vector<PhaseGain> gains = phase_gains(gain);
  if (gains.empty()) return "";
  std::stable_sort(gains.begin(), gains.end(),
                   [](const PhaseGain& a, const PhaseGain& b) { return a.saved() > b.saved(); });
  std::vector<std::string> parts;
  constexpr double kUnchanged = 0.0005;  // of a phase
  for (const PhaseGain& one : gains) {
    if (std::abs(one.saved()) < kUnchanged * one.from) {
      parts.push_back(fmt::format("{} unchanged", one.phase));
      continue;
    }
    parts.push_back(fmt::format("{} {}{} ({:.2f}{})", one.phase, one.saved() < 0 ? "takes " : "",
                                format_seconds(std::abs(one.saved())) + (one.saved() < 0 ? " longer" : ""),
                                one.factor(), parts.empty() ? " times as fast" : ""));
  }
  return fmt::format("{} of {}: {}", format_seconds(gain.saved()), format_seconds(gain.from->main_time()->median),
                     fmt::join(parts, ", "));
}

std::string saves_word(const Gain& gain) {
  if (is_predicted(*gain.to)) return "is predicted to save";
  return gain.doubt.empty() ? "saves" : "saves about";
}

std::string Gain::text() const { return factor_text(ratio, doubt, is_predicted(*to)); }

namespace {

// The pairs of an option by what they show, as factors.
struct SortedGains {
  std::vector<double> faster, slower, equal, rough, predicted;
  bool rough_is_faster = true;  // every rough one is faster beyond doubt
  bool rough_is_slower = true;

  // Predictions count as measurements where there is nothing else.
  SortedGains(const std::vector<Gain>& gains, bool counts_predicted) {
    for (const Gain& gain : gains) {
      const double factor = gain.ratio.value;
      const Interval range = gain.ratio.interval.value_or(Interval{factor, factor});
      if (!gain.doubt.empty()) {
        rough.push_back(factor);
        rough_is_faster = rough_is_faster && gain.is_beyond_doubt && factor > 1;
        rough_is_slower = rough_is_slower && gain.is_beyond_doubt && factor < 1;
      } else if (is_predicted(*gain.to) && !counts_predicted) {
        predicted.push_back(factor);
      } else {
        (range.low > 1 ? faster : range.high < 1 ? slower : equal).push_back(factor);
      }
    }
  }

  std::string_view worth() const {
    if (slower.empty() && equal.empty()) return "is worth it here by time";
    if (faster.empty() && equal.empty()) return "costs time here";
    if (faster.empty() && slower.empty()) return "makes no difference here that can be seen";
    return faster.empty() ? "gains nothing here" : "is worth it at some points only";
  }
};

}  // namespace

std::string OptionGains::conclusion() const {
  const bool all_predicted =
      std::all_of(gains.begin(), gains.end(), [](const Gain& gain) { return is_predicted(*gain.to); });
  const SortedGains sorted(gains, all_predicted);
  if (sorted.faster.empty() && sorted.slower.empty() && sorted.equal.empty()) {
    const std::string factors = fmt::format("{}{}", kRoughMark, range_of_factors(sorted.rough));
    if (!sorted.rough_is_faster && !sorted.rough_is_slower) {
      return fmt::format(
          "whether {} is faster than {} cannot be said: the factors at all {} ({}) are rough; laptime compare tells a "
          "difference in spite of unsteady times",
          to, from, counted(sorted.rough.size(), "point"), factors);
    }
    return fmt::format(
        "{} is {} than {} here, but how much cannot be said: the factors at all {} ({}) are rough; laptime compare "
        "tells it in spite of unsteady times",
        to, sorted.rough_is_faster ? "faster" : "slower", from, counted(sorted.rough.size(), "point"), factors);
  }
  std::vector<std::string> parts;
  const auto add = [&](std::string_view what, const std::vector<double>& factors, std::string_view mark) {
    if (!factors.empty())
      parts.push_back(fmt::format("{} at {} of {} ({}{} times as fast)", what, factors.size(),
                                  counted(gains.size(), "point"), mark, range_of_factors(factors)));
  };
  add("faster", sorted.faster, "");
  add("slower", sorted.slower, "");
  if (!sorted.equal.empty())
    parts.push_back(fmt::format("no difference seen at {} of {}", sorted.equal.size(), counted(gains.size(), "point")));
  add("only roughly known", sorted.rough, kRoughMark);
  add("predicted", sorted.predicted, "");
  return fmt::format("{}{} {}: against {} it is {}", all_predicted ? "by prediction " : "", to, sorted.worth(), from,
                     fmt::join(parts, ", "));
}

std::vector<OptionGains> find_gains(const PageView& view) {
  std::set<std::string> types;
  for (const Record* const record : view.timed()) types.insert(record->config.text(kNumberType));
  std::vector<OptionGains> all;
  const auto add = [&](OptionGains gains) {
    if (!gains.gains.empty()) all.push_back(std::move(gains));
  };
  const Change mode{kMode, "eager", "compile"};
  types.erase("float32");
  add(gains_of(view, {mode}));
  for (const std::string& type : types) add(gains_of(view, {{kNumberType, "float32", type}}));
  for (const std::string& type : types) add(gains_of(view, {{kNumberType, "float32", type}, mode}));
  return all;
}

std::vector<std::pair<TracedPoint, TracedPoint>> eager_and_compile(const std::vector<TracedPoint>& points) {
  std::map<std::string, std::vector<const TracedPoint*>> compiled;
  for (const TracedPoint& point : points) {
    if (point.record->config.text(kMode) == "compile") compiled[rest_of_config(*point.record, kMode)].push_back(&point);
  }
  std::vector<std::pair<TracedPoint, TracedPoint>> pairs;
  for (const TracedPoint& eager : points) {
    if (eager.record->config.text(kMode) != "eager") continue;
    for (const TracedPoint* const one : compiled[rest_of_config(*eager.record, kMode)]) pairs.emplace_back(eager, *one);
  }
  return pairs;
}

std::vector<GainSentence> gain_sentences(const PageView& view) {
  constexpr size_t kMost = 8;  // factors of a sentence
  std::vector<GainSentence> sentences;
  if (view.headline() == nullptr) return sentences;
  const int pass = rank_of_pass(*view.headline());
  for (const OptionGains& option : view.gains()) {
    std::vector<std::string> factors;
    bool some_rough = false;
    size_t left_out = 0;
    std::string phases;
    for (const Gain& gain : option.gains) {
      if (rank_of_pass(*gain.to) != pass) continue;
      if (gain.to == view.headline() && gain.saved() > 0) {
        if (const std::string text = phase_gains_text(gain); !text.empty())
          phases =
              fmt::format(" At {} it {} {}.", gain.name.empty() ? "this point" : gain.name, saves_word(gain), text);
      }
      if (factors.size() == kMost) {
        ++left_out;
        continue;
      }
      some_rough = some_rough || !gain.doubt.empty();
      std::string interval =
          gain.ratio.interval ? fmt::format(" ({:.2f} .. {:.2f})", gain.ratio.interval->low, gain.ratio.interval->high)
                              : "";
      factors.push_back(fmt::format("{}{}{:.2f}{}", gain.name.empty() ? "" : gain.name + " ",
                                    gain.doubt.empty() ? "" : kRoughMark, gain.ratio.value, interval));
    }
    if (factors.empty()) continue;
    sentences.push_back(
        {fmt::format("{} over {}", option.to, option.from),
         fmt::format(
             "Times as fast: {}{}.{}{}", fmt::join(factors, ", "),
             left_out > 0 ? fmt::format(", and {} more below", left_out) : "", phases,
             some_rough ? fmt::format(" {} marks a rough factor; the chart of gains says why.", kRoughMark) : "")});
  }
  return sentences;
}

}  // namespace laptime
