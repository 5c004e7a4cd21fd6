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

PageFigure factors_figure(std::string title, std::string reading, std::string summary,
                          const std::vector<Factor>& factors) {
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
  summary += " The axis is logarithmic: twice and half as fast are as far from 1.";
  if (some_rough)
    summary += " A hollow mark and ~ mean a rough factor: its reason stands beside it, and it has no interval.";
  return {.title = std::move(title),
          .reading = std::move(reading),
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
                    {"axis_title", "times as fast (1: no difference)"}},
          .table = page_table(grid)};
}

// The whole pass and its phases.
void add_factors(const Gain& gain, std::vector<Factor>& factors) {
  factors.push_back(
      {gain.name.empty() ? gain.to->config.text("pass") : gain.name, kWholePass, gain.ratio, gain.doubt, gain.text()});
  for (const PhaseGain& one : phase_gains(gain)) {
    std::optional<TimeRatio> ratio =
        ratio_of_medians(*time_of_part(*gain.from, one.phase), *time_of_part(*gain.to, one.phase));
    if (!ratio) continue;
    if (!gain.doubt.empty() || is_predicted(*gain.to)) ratio->interval.reset();
    factors.push_back({factors.back().point, one.phase, *ratio, gain.doubt, ""});
  }
}

// The pairs of the headline first.
std::vector<const Gain*> gains_with_phases(const PageView& view, const OptionGains& option) {
  std::vector<const Gain*> gains;
  for (const Gain& gain : option.gains) {
    if (phase_gains(gain).size() > 1) gains.push_back(&gain);
  }
  const auto context = [](const Gain* gain) { return config_number(*gain->to, "context_length").value_or(0); };
  std::stable_sort(gains.begin(), gains.end(), [&](const Gain* a, const Gain* b) {
    return std::pair(a->to == view.headline(), context(a)) > std::pair(b->to == view.headline(), context(b));
  });
  return gains;
}

// Which phase gains how much, a row for each pair; without rows where no pair has phases.
PageFigure phases_figure(const PageView& view) {
  Grid grid{
      .name = "phase_gains",
      .title = "Gains by phase",
      .columns = {text_column("gain", "Gain"), text_column("point", "Point")},
      .rows = {},
      .notes = {"Saved: the median with the first value less that with the second, below 0 where the phase takes "
                "longer. Times as fast: the first median over the second. Medians of phases do not add up to that "
                "of the step to the last digit. ~ marks a rough factor; the charts say why."}};
  for (const std::string_view phase : kStepPhases)
    grid.columns.push_back({fmt::format("{}_saved_s", phase), fmt::format("{} saves", phase), Unit::kSeconds});
  grid.columns.push_back({"saved_s", "the whole saves", Unit::kSeconds});
  for (const std::string_view phase : kStepPhases)
    grid.columns.push_back({fmt::format("{}_speedup", phase), fmt::format("{}, times as fast", phase), Unit::kRatio});
  grid.columns.push_back({"speedup", "the whole, times as fast", Unit::kRatio});
  std::string reading;
  std::vector<bool> is_rough;  // each row
  for (const OptionGains& option : view.gains()) {
    const std::string name = fmt::format("{} over {}", option.to, option.from);
    const std::vector<const Gain*> gains = gains_with_phases(view, option);
    for (const Gain* const gain : gains) {
      if (grid.rows.size() == kMostBars) break;
      std::map<std::string, PhaseGain, std::less<>> phases;
      for (const PhaseGain& one : phase_gains(*gain)) phases.emplace(one.phase, one);
      std::vector<Json> row{name, gain->name};
      for (const std::string_view phase : kStepPhases)
        row.push_back(phases.contains(phase) ? Json(phases.find(phase)->second.saved()) : Json());
      row.emplace_back(gain->saved());
      for (const std::string_view phase : kStepPhases)
        row.push_back(phases.contains(phase) ? Json(phases.find(phase)->second.factor()) : Json());
      row.emplace_back(gain->ratio.value);
      grid.rows.push_back(std::move(row));
      is_rough.push_back(!gain->doubt.empty());
    }
    if (gains.empty() || gains.front()->saved() <= 0) continue;
    reading += fmt::format("{}{} {} {}{}.", reading.empty() ? "" : " ", name, saves_word(*gains.front()),
                           phase_gains_text(*gains.front()),
                           gains.front()->name.empty() ? "" : fmt::format(" ({})", gains.front()->name));
  }
  PageTable table = page_table(grid);
  for (size_t row = 0; row < is_rough.size(); ++row) {
    for (size_t column = table.columns.size() - kStepPhases.size() - 1; is_rough[row] && column < table.columns.size();
         ++column) {
      if (!grid.rows[row][column].is_null()) table.shown[row][column].insert(0, kRoughMark);
    }
  }
  return {
      .title = "Which phase gains how much", .reading = std::move(reading), .table = std::move(table), .is_open = true};
}

PageFigure pairs_figure(const OptionGains& option) {
  std::vector<Factor> factors;
  const size_t shown = std::min(option.gains.size(), kMostBars);
  for (size_t i = 0; i < shown; ++i) add_factors(option.gains[i], factors);
  return factors_figure(
      fmt::format("{} over {}: times as fast", option.to, option.from), option.conclusion() + ".",
      fmt::format("A large mark is the median time of the whole pass with {} over that with {}, a small one that of a "
                  "phase; the line through it is the 95 % interval. An interval that holds 1 shows no difference.{}",
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
        "Times as fast as " + baseline, "",
        "A large mark is the median time of the baseline over that of the whole pass, a small one that of a "
        "phase; the line through it is the 95 % interval. An interval that holds 1 shows no difference." +
            left_out_sentence(std::min(points, kMostBars), points),
        factors));
  }
}

}  // namespace

PageSection speedup_section(const PageView& view) {
  PageSection section{.id = "speed-up", .title = "What bfloat16 and compilation gain"};
  const std::vector<OptionGains>& pairs = view.gains();
  for (const OptionGains& option : pairs) section.figures.push_back(pairs_figure(option));
  if (PageFigure phases = phases_figure(view); !phases.table.rows.empty()) section.figures.push_back(std::move(phases));
  add_baselines(view, pairs, section);
  return section;
}

}  // namespace laptime
