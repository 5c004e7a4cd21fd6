// What bfloat16 and compile mode gain: pairs of points that differ in nothing else.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "record/time_stats.h"
#include "report/page/page_view.h"

namespace laptime {

// One pair of points.
struct Gain {
  const Record* from = nullptr;
  const Record* to = nullptr;
  std::string name;   // of both points, without the value in which they differ
  TimeRatio ratio;    // how many times as fast `to` is; no interval where it is rough or predicted
  std::string doubt;  // why the ratio is rough: "the verdict on eager is unstable"; empty where it is not

  // "1.46 (95 %: 1.40 to 1.52)", "~1.46 (rough: the verdict on eager is unstable)", "1.46 (predicted)".
  std::string text() const;
};

// All pairs of one option, those of the headline's pass first.
struct OptionGains {
  std::string_view option;  // "mode"
  std::string from, to;     // "eager", "compile"
  std::vector<Gain> gains;

  // Whether `to` is worth it by time, with the number of pairs and the range of their factors, or why that cannot be
  // said.
  std::string conclusion() const;
};
// Those that have a pair: eager to compile mode, and float32 to each other number type.
std::vector<OptionGains> option_gains(const PageView& view);

// One sentence for each option: the factor at each size of the headline's pass.
std::vector<std::string> gain_sentences(const PageView& view);

// The configuration of a record without this option and without what says how much was measured.
std::string rest_of_config(const Record& record, std::string_view option);

}  // namespace laptime
