// What bfloat16, compile mode and both together gain: pairs of points that differ in nothing else.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "record/record.h"
#include "record/time_stats.h"

namespace laptime {

class PageView;
struct TracedPoint;

inline constexpr const char* kMode = "mode";
inline constexpr const char* kNumberType = "dtype";
inline constexpr const char* kBoth = "both";

// One pair of points.
struct Gain {
  const Record* from = nullptr;
  const Record* to = nullptr;
  std::string name;              // of both points, without the value in which they differ
  TimeRatio ratio;               // how many times as fast `to` is; no interval where it is rough or predicted
  std::string doubt;             // why the ratio is rough: "the verdict on eager is unstable"; empty where it is not
  bool is_beyond_doubt = false;  // whether it is far larger than what the samples of both sides spread

  // Seconds that the whole pass saves; below 0 where it takes longer.
  double saved() const;

  // "1.46 (95 %: 1.40 to 1.52)", "~1.46 (rough: the verdict on eager is unstable)", "1.46 (predicted)".
  std::string text() const;
};

// What one phase gains: seconds of both points.
struct PhaseGain {
  std::string phase;
  double from = 0;
  double to = 0;

  double saved() const { return from - to; }
  double factor() const { return from / to; }
};
// In the order of a step; empty for a pass whose phases were not timed alone.
std::vector<PhaseGain> phase_gains(const Gain& gain);

// "29.4 ms of 108.9 ms: optimizer 22.8 ms (3.59 times as fast), forward 3.4 ms (1.15), backward 2.0 ms (1.04)", the
// largest saving first; empty for a pass without phases.
std::string phase_gains_text(const Gain& gain);

// All pairs of one option, or of both together, those of the headline's pass first.
struct OptionGains {
  std::string_view option;  // "mode", or kBoth
  std::string from, to;     // "eager", "compile"; "float32 eager", "bfloat16 compile"
  std::vector<Gain> gains;

  // Whether `to` is worth it by time, with the number of points and the range of their factors, or why that cannot be
  // said. Predictions say that they are.
  std::string conclusion() const;
};
// Those that have a pair: eager to compile mode, float32 to each other number type, and both at once.
// PageView::gains() has them.
std::vector<OptionGains> find_gains(const PageView& view);

// "saves", or in what other sense it does: predicted, or about, where a time is not to be relied on.
std::string saves_word(const Gain& gain);

// Of these points each pair that differs in mode alone, eager first.
std::vector<std::pair<TracedPoint, TracedPoint>> eager_and_compile(const std::vector<TracedPoint>& points);

// A ratio of two times in words, with its interval, or why it has none: as Gain::text().
std::string factor_text(const TimeRatio& ratio, const std::string& doubt, bool predicted);

// One sentence for each option: the factor at each size of the headline's pass, and for the work of the headline which
// phase gains how much. `gain` names the option: "compile over eager".
struct GainSentence {
  std::string gain;
  std::string text;
};
std::vector<GainSentence> gain_sentences(const PageView& view);

// The configuration of a record without these options and without what says how much was measured.
std::string rest_of_config(const Record& record, std::string_view option, std::string_view another = "");

}  // namespace laptime
