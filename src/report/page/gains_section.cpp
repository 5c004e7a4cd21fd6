// What bfloat16, compile mode and other options gain, pair by pair and against the baseline of a run.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "record/metrics.h"
#include "report/page/gains.h"
#include "report/page/page_sections.h"
#include "report/page/page_words.h"
#include "report/palette.h"
#include "report/speedup.h"

namespace laptime {
namespace {

constexpr const char* kWholePass = "whole pass";

// One row of a chart of ratios.
struct Factor {
  std::string point;
  std::string part;
  TimeRatio ratio;
  std::string doubt;  // why it is rough; empty where it is not
  std::string text;   // beside the mark; only the whole pass has one
};

PageFigure factors_figure(std::string title, std::string summary, const std::vector<Factor>& factors) {
  Grid grid{.name = "speedups",
            .title = "Speed-up",
            .columns = {text_column("point", "Point"),
                        text_column("part", "Part"),
                        {"speedup", "Speed-up", Unit::kRatio},
                        {"speedup_low", "95 % from", Unit::kRatio},
                        {"speedup_high", "to", Unit::kRatio},
                        text_column("doubt", "Rough because"),
                        text_column("text", "In words")},
            .rows = {},
            .notes = {}};
  bool some_rough = false;
  for (const Factor& one : factors) {
    some_rough = some_rough || !one.doubt.empty();
    grid.rows.push_back({one.point, one.part, one.ratio.value,
                         one.ratio.interval ? Json(one.ratio.interval->low) : Json(),
                         one.ratio.interval ? Json(one.ratio.interval->high) : Json(), one.doubt, one.text});
  }
  if (some_rough)
    summary += " A hollow mark and ~ mean a rough factor: its reason stands beside it, and it has no interval.";
  return {.title = std::move(title),
          .summary = std::move(summary),
          .chart = {{"kind", "ratios"},
                    {"label", "point"},
                    {"part", "part"},
                    {"value", "speedup"},
                    {"low", "speedup_low"},
                    {"high", "speedup_high"},
                    {"doubt", "doubt"},
                    {"text", "text"},
                    {"looks", looks_json(phase_looks())},
                    {"axis_title", "times as fast"}},
          .table = page_table(grid)};
}

// The whole pass and its phases.
void add_factors(const Gain& gain, std::vector<Factor>& factors) {
  factors.push_back(
      {gain.name.empty() ? gain.to->config.text("pass") : gain.name, kWholePass, gain.ratio, gain.doubt, gain.text()});
  for (const std::string_view phase : kStepPhases) {
    const TimeStats* const from = time_of_part(*gain.from, phase);
    const TimeStats* const to = time_of_part(*gain.to, phase);
    if (from == nullptr || to == nullptr || to == gain.to->main_time()) continue;
    std::optional<TimeRatio> ratio = ratio_of_medians(*from, *to);
    if (!ratio) continue;
    if (!gain.doubt.empty() || is_predicted(*gain.to)) ratio->interval.reset();
    factors.push_back({factors.back().point, std::string(phase), *ratio, gain.doubt, ""});
  }
}

PageFigure pairs_figure(const OptionGains& option) {
  std::vector<Factor> factors;
  const size_t shown = std::min(option.gains.size(), kMostBars);
  for (size_t i = 0; i < shown; ++i) add_factors(option.gains[i], factors);
  return factors_figure(
      fmt::format("{}: times as fast as {}", option.to, option.from),
      fmt::format("The median with {} over that with {} of the same point, with its 95 % interval. An interval that "
                  "holds 1 shows no difference.{}",
                  option.from, option.to, left_out_sentence(shown, option.gains.size())),
      factors);
}

// Against the baselines of the runs, one figure for each of these; those that a chart of pairs has are left out.
void add_baselines(const PageView& view, const std::vector<OptionGains>& pairs, PageSection& section) {
  const Baselines& baselines = view.baselines();
  for (const std::string& baseline : baselines.descriptions()) {
    if (std::any_of(pairs.begin(), pairs.end(), [&](const OptionGains& one) { return one.from == baseline; })) continue;
    std::vector<Factor> factors;
    size_t points = 0;
    for (const Record* const record : view.timed()) {
      if (baselines.is_baseline(*record) || baselines.description_for(*record) != baseline ||
          !baselines.any_speedup(*record, "") || ++points > kMostBars)
        continue;
      std::vector<std::string> parts{record->config.text("pass")};
      for (const std::string_view phase : kStepPhases) {
        if (phase != parts.front()) parts.emplace_back(phase);
      }
      const std::string verdict = baselines.why_no_speedup(*record, "");
      const std::string doubt = verdict.empty() ? "" : "verdict: " + verdict;
      for (const std::string& part : parts) {
        const std::optional<TimeRatio> ratio = baselines.any_speedup(*record, part);
        if (!ratio) continue;
        const bool is_whole = part == parts.front();
        factors.push_back({view.name(*record), is_whole ? kWholePass : part, *ratio, doubt,
                           is_whole ? factor_text(*ratio, doubt, is_predicted(*record)) : ""});
      }
    }
    if (factors.empty()) continue;
    section.figures.push_back(factors_figure(
        "Times as fast as " + baseline,
        "The median of the baseline over that of the point, with its 95 % interval. An interval that holds 1 shows "
        "no difference." +
            left_out_sentence(std::min(points, kMostBars), points),
        factors));
  }
}

}  // namespace

PageSection speedup_section(const PageView& view) {
  PageSection section{.id = "speed-up", .title = "What bfloat16 and compilation gain"};
  const std::vector<OptionGains>& pairs = view.gains();
  for (const OptionGains& option : pairs) {
    section.figures.push_back(pairs_figure(option));
    section.lines.push_back(fmt::format("Conclusion: {}.", option.conclusion()));
  }
  add_baselines(view, pairs, section);
  return section;
}

}  // namespace laptime
