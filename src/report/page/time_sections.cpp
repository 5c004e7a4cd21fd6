// How long steps take: by phase, from the first step on, and sample by sample.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "base/units.h"
#include "base/words.h"
#include "distribution/bootstrap.h"
#include "distribution/median.h"
#include "distribution/steady_state.h"
#include "distribution/verdict.h"
#include "record/metrics.h"
#include "report/column_sets/column_sets.h"
#include "report/model_name.h"
#include "report/page/gains.h"
#include "report/page/page_sections.h"
#include "report/page/page_words.h"
#include "report/palette.h"
#include "table/value_text.h"

namespace laptime {
namespace {

Json seconds_of(const Record& record, std::string_view phase) {
  const TimeStats* const time = time_of_part(record, phase);
  return time == nullptr ? Json(nullptr) : Json(time->median);
}

// The parts of a bar: phases that some record has, and the passes that have none of their own.
std::vector<std::string> parts_of(const std::vector<const Record*>& records) {
  std::vector<std::string> parts;
  for (const std::string_view phase : kStepPhases) {
    if (std::any_of(records.begin(), records.end(),
                    [&](const Record* record) { return !seconds_of(*record, phase).is_null(); })) {
      parts.emplace_back(phase);
    }
  }
  for (const Record* const record : records) {
    const std::string pass = record->config.text("pass");
    const bool has_phase = std::any_of(kStepPhases.begin(), kStepPhases.end(),
                                       [&](std::string_view phase) { return !seconds_of(*record, phase).is_null(); });
    if (!has_phase && std::find(parts.begin(), parts.end(), pass) == parts.end()) parts.push_back(pass);
  }
  return parts;
}

std::vector<const Record*> first_of(const std::vector<const Record*>& records, size_t most) {
  return {records.begin(), records.begin() + static_cast<std::ptrdiff_t>(std::min(most, records.size()))};
}

std::vector<const Record*> measured(const PageView& view) {
  std::vector<const Record*> records;
  for (const Record* const record : view.timed()) {
    if (!is_predicted(*record) && !record->main_time()->samples.empty()) records.push_back(record);
  }
  return records;
}

SteadyState steadiness_of(const std::vector<double>& steps) {
  const auto count = static_cast<int64_t>(steps.size());
  if (count < 2 * kSteadyWindow) return {};
  return find_steady_state(steps, kSteadyWindow, count - kSteadyWindow);
}

// "steady from step 6 on", "no steady state within 60 steps: last 5 steps +1.1 %".
std::string steadiness_text(const Record& record, const std::vector<double>& steps, const SteadyState& steady) {
  switch (steady.steadiness) {
    case Steadiness::kReached: return fmt::format("steady from step {} on", steady.after + 1);
    case Steadiness::kNotReached: {
      const std::string drift = drift_text(record);
      return fmt::format("no steady state within {}{}", counted(steps.size(), "step"),
                         drift.empty() ? "" : ": " + drift);
    }
    case Steadiness::kUnknown: break;
  }
  return fmt::format("{} {} too few to tell", counted(steps.size(), "step"), steps.size() == 1 ? "is" : "are");
}

// "812.4 ms (805.1 .. 820.0), noisy"; a prediction says itself that it is one, and a record may have no verdict.
std::string time_and_verdict(const Record& record) {
  const std::string time = cell_of("median", record);
  const std::string verdict = verdict_and_reason(record);
  return is_predicted(record) || verdict.empty() ? time : fmt::format("{}, {}", time, verdict);
}

// Of the most complete pass: "The shortest step takes 48.92 ms (ctx:64), the longest 156.9 ms (ctx:128). Of the step
// forward takes 21 % to 27 %, backward 44 % to 61 %, ..."
std::string shares_of_phases(const PageView& view, const std::vector<const Record*>& records) {
  int rank = -1;
  for (const Record* const record : records) rank = std::max(rank, rank_of_pass(*record));
  std::map<std::string_view, std::vector<double>> shares;
  const Record* shortest = nullptr;
  const Record* longest = nullptr;
  for (const Record* const record : records) {
    if (rank_of_pass(*record) != rank) continue;
    const double whole = record->main_time()->median;
    if (shortest == nullptr || whole < shortest->main_time()->median) shortest = record;
    if (longest == nullptr || whole > longest->main_time()->median) longest = record;
    for (const std::string_view phase : kStepPhases) {
      const TimeStats* const time = time_of_part(*record, phase);
      if (time != nullptr && time != record->main_time() && whole > 0) shares[phase].push_back(time->median / whole);
    }
  }
  const auto named = [&](const Record& record) {
    return fmt::format("{} ({})", format_seconds(record.main_time()->median), view.name(record));
  };
  std::string text =
      shortest == longest
          ? fmt::format("{} takes {}.", view.name(*longest), format_seconds(longest->main_time()->median))
          : fmt::format("The shortest {0} takes {1}, the longest {2}.", shortest->config.text("pass"), named(*shortest),
                        named(*longest));
  std::vector<std::string> parts;
  for (const std::string_view phase : kStepPhases) {
    if (shares.contains(phase)) {
      parts.push_back(
          fmt::format("{} {}{}", phase, parts.empty() ? "takes " : "", range_text(shares[phase], percent_text)));
    }
  }
  if (!parts.empty()) text += fmt::format(" Of the {} {}.", longest->config.text("pass"), fmt::join(parts, ", "));
  return text;
}

// How soon the points of a page were steady, and how slow their first steps were.
class SteadyPoints {
 public:
  // `steps` in seconds, and the median of the samples among them.
  void add(const SteadyState& steady, const std::vector<double>& steps, double median_time, const std::string& name) {
    const double first = steps.front() / median_time;
    ++all_;
    longest_.push_back(*std::max_element(steps.begin(), steps.end()) / median_time);
    if (steady.steadiness == Steadiness::kReached) reached_.push_back(steady.after + 1);
    unknown_ += steady.steadiness == Steadiness::kUnknown ? 1U : 0U;
    if (first > slowest_) {
      slowest_ = first;
      slowest_name_ = name;
    }
  }

  // The end of the axis that all points share, as a multiple of the median. One slow step does not stretch it so far
  // that the other steps cannot be told apart.
  double most_shown() const {
    constexpr double kRoom = 2;
    return kRoom * std::max(1.0, median(longest_));
  }

  // "9 of 16 points reached a steady state, the first from step 6 on, the last from step 11 on. The slowest first step
  // took 1.90 times the median (step ctx:64)."
  std::string sentence() const {
    std::string text;
    if (!reached_.empty()) {
      const auto [first, last] = std::minmax_element(reached_.begin(), reached_.end());
      text = fmt::format("{} of {} reached a steady state, {}", reached_.size(), counted(all_, "point"),
                         *first == *last
                             ? fmt::format("from step {} on", *first)
                             : fmt::format("the first from step {} on, the last from step {} on", *first, *last));
    } else {
      text = fmt::format("None of {} reached a steady state", counted(all_, "point"));
    }
    if (unknown_ > 0) text += fmt::format("; {} ran too few steps to tell", unknown_);
    if (slowest_ <= 1) return text + ". No first step was longer than the median.";
    return fmt::format("{}. The slowest first step took {:.2f} times the median ({}).", text, slowest_, slowest_name_);
  }

 private:
  size_t all_ = 0;
  size_t unknown_ = 0;
  std::vector<int64_t> reached_;  // the first step of each steady state
  std::vector<double> longest_;   // step of each point, over its median
  double slowest_ = 0;
  std::string slowest_name_;
};

PageFigure step_times(const PageView& view, const std::vector<const Record*>& group, const std::string& of_what) {
  const std::vector<const Record*> records = first_of(group, kMostBars);
  const std::vector<std::string> parts = parts_of(records);
  Grid grid{
      .name = "step_times", .title = "Step times", .columns = {text_column("point", "Point")}, .rows = {}, .notes = {}};
  std::vector<ChartPart> drawn;
  for (const std::string& part : parts) {
    drawn.push_back({part + "_s", part, look_of_phase(part)});
    grid.columns.push_back({part + "_s", part, Unit::kSeconds});
  }
  grid.columns.push_back({"median_s", "median of the pass", Unit::kSeconds});
  grid.columns.push_back({"ci_low_s", "95 % from", Unit::kSeconds});
  grid.columns.push_back({"ci_high_s", "to", Unit::kSeconds});
  grid.columns.push_back({"count", "n"});
  grid.columns.push_back(text_column("verdict", "verdict"));
  grid.columns.push_back(text_column("text", "median (95 % interval), verdict"));
  double most = 0;
  for (const Record* const record : records) {
    const TimeStats& time = *record->main_time();
    most = std::max(most, time.median);
    std::vector<Json> row{view.name(*record)};
    bool has_part = false;
    for (const std::string& part : parts) {
      Json seconds = seconds_of(*record, part);
      const bool is_whole = part == record->config.text("pass");
      if (is_whole && has_part) seconds = nullptr;
      has_part = has_part || !seconds.is_null();
      row.push_back(std::move(seconds));
    }
    const bool predicted = is_predicted(*record);
    row.insert(row.end(),
               {time.median, predicted ? Json() : or_null(time.ci_low), predicted ? Json() : or_null(time.ci_high),
                predicted ? Json() : Json(time.count), record->verdict.rating, time_and_verdict(*record)});
    grid.rows.push_back(std::move(row));
  }
  note_left_out(grid, records.size(), group.size());
  const bool all_predicted =
      std::all_of(records.begin(), records.end(), [](const Record* one) { return is_predicted(*one); });
  std::string summary =
      all_predicted
          ? "The parts of a bar are the times that are predicted for its phases. Beside or above a bar stands that of "
            "the whole pass."
          : "The parts of a bar are the medians of its phases, timed in place within each step. The upright tick is "
            "the median of the whole pass, and the line with two ends its 95 % interval; as medians do not add up, a "
            "bar may end a little beside the tick. Beside or above a bar stand that median, in brackets its interval, "
            "and the verdict.";
  summary += left_out_sentence(records.size(), group.size());
  return {.title = (all_predicted ? "Predicted time of each phase" : "Median time of each phase") + of_what,
          .reading = shares_of_phases(view, group),
          .summary = std::move(summary),
          .chart = {{"kind", "bars"},
                    {"label", "point"},
                    {"parts", parts_json(drawn)},
                    {"total", "median_s"},
                    {"total_name", all_predicted ? "time of the pass" : "median of the pass, with its 95 % interval"},
                    {"low", "ci_low_s"},
                    {"high", "ci_high_s"},
                    {"text", "text"},
                    {"axis", axis_of(most, Unit::kSeconds)},
                    {"axis_title", "time"}},
          .table = page_table(grid)};
}

// Points that one scale suits: all, or where some would be too short to see, those of one model and device.
std::vector<std::pair<std::string, std::vector<const Record*>>> groups_of(const std::vector<const Record*>& records) {
  constexpr double kVisible = 100;  // times the shortest
  std::vector<std::pair<std::string, std::vector<const Record*>>> groups;
  const auto [least, most] = std::minmax_element(records.begin(), records.end(), [](const Record* a, const Record* b) {
    return a->main_time()->median < b->main_time()->median;
  });
  const bool one_scale = (*most)->main_time()->median < kVisible * (*least)->main_time()->median;
  for (const Record* const record : records) {
    const std::string name = one_scale ? ""
                                       : fmt::format("{} {}", model_text(*record),
                                                     is_predicted(*record) ? record->config.text("device") : "");
    auto found = std::find_if(groups.begin(), groups.end(), [&](const auto& group) { return group.first == name; });
    if (found == groups.end()) found = groups.insert(groups.end(), {name, {}});
    found->second.push_back(record);
  }
  return groups;
}

}  // namespace

PageSection step_time_section(const PageView& view) {
  PageSection section{.id = "step-time", .title = "Step time by phase and size"};
  if (view.timed().empty()) return section;
  for (const auto& [name, group] : groups_of(view.timed())) {
    section.figures.push_back(step_times(view, group, name.empty() ? "" : ": " + name));
  }
  for (const SlowInference& slow : view.slow_inferences()) {
    section.lines.push_back(slow_inference_text(view, slow) +
                            ": inference does no more work, so the machine was slower during one of the two.");
  }
  return section;
}

PageSection first_steps_section(const PageView& view) {
  PageSection section{.id = "first-steps", .title = "First steps and steady state"};
  const std::vector<const Record*> all = measured(view);
  constexpr size_t kMostSteps = 16;  // panels, one below the other
  const std::vector<const Record*> records = first_of(all, kMostSteps);
  if (records.empty()) return section;
  Grid grid{.name = "first_steps",
            .title = "Time of each step",
            .columns = {text_column("point", "Point"),
                        {"step", "Step"},
                        {"seconds_s", "Time", Unit::kSeconds},
                        {"relative", "Over the median", Unit::kRatio},
                        text_column("kind", "Counted as")},
            .rows = {},
            .notes = {"Over the median: the time of the step over the median of the samples, 1 is steady."}};
  Json marks = Json::array();
  Json texts = Json::object();  // of each series
  SteadyPoints points;
  for (const Record* const record : records) {
    const std::vector<double> steps = whole_series(*record);
    SteadyState steady = steadiness_of(steps);
    // The verdict looks at the last steps too: a series that drifts away again is not steady.
    if (record->verdict.rating == name_of(Stability::kNoSteadyState)) steady.steadiness = Steadiness::kNotReached;
    const std::string name = view.name(*record);
    for (size_t i = 0; i < steps.size(); ++i) {
      grid.rows.push_back({name, i + 1, steps[i], steps[i] / record->main_time()->median,
                           i < record->transient.warmup.size() ? "warm-up" : "sample"});
    }
    if (steady.steadiness == Steadiness::kReached) marks.push_back({{"series", name}, {"x", steady.after + 1}});
    points.add(steady, steps, record->main_time()->median, name);
    texts[name] = steadiness_text(*record, steps, steady);
  }
  note_left_out(grid, records.size(), all.size());
  section.figures.push_back(
      {.title = "Time of each step, from the very first, as a multiple of the median",
       .reading = points.sentence(),
       .summary = fmt::format(
           "A panel is a point, a dot one of its steps in order: hollow dots are warm-up and count for nothing, filled "
           "ones are the samples, also those before the shaded part. The median of the page is that of all samples, "
           "and the dashed line stands at it. The shaded steps are the steady state: it begins where the median of {} "
           "steps lies within {:.0f} % of that of the {} before. A triangle at the upper edge is a longer step than "
           "the axis shows, with its multiple.{}",
           kSteadyWindow, 100 * kSteadyTolerance, kSteadyWindow, left_out_sentence(records.size(), all.size())),
       .chart = {{"kind", "lines"},
                 {"series", "point"},
                 {"x", "step"},
                 {"y", "relative"},
                 {"text", "seconds_s"},
                 {"marks", std::move(marks)},
                 {"most", points.most_shown()},
                 {"texts", std::move(texts)},
                 {"x_title", "number of the step, warm-up included"}},
       .table = page_table(grid)});
  return section;
}

// How far from the median the chart of samples reaches, as a fraction: as far as most samples of most points lie, so
// that one slow sample does not hide the others. Those beyond stand at its edge.
double robust_range(const std::vector<const Record*>& records) {
  constexpr double kUsual = 0.9;  // of the samples of a point
  constexpr double kRoom = 2.5;
  constexpr double kLeast = 0.01;
  std::vector<double> usual;
  double most = 0;
  for (const Record* const record : records) {
    const TimeStats& time = *record->main_time();
    std::vector<double> distances;
    for (const double sample : time.samples) distances.push_back(std::abs(sample / time.median - 1));
    std::sort(distances.begin(), distances.end());
    most = std::max(most, distances.back());
    usual.push_back(distances[static_cast<size_t>(kUsual * static_cast<double>(distances.size() - 1))]);
  }
  return std::max(kLeast, std::min(most, kRoom * median(usual)));
}

// How well the medians are known: "The median is known within 1 % at 10 of 16 points; the widest interval is that of
// inference float32: -2.4 .. +20.9 %."
std::string sureness_of(const PageView& view, const std::vector<const Record*>& records) {
  size_t sure = 0;
  double widest = -1;
  const Record* widest_record = nullptr;
  for (const Record* const record : records) {
    const TimeStats& time = *record->main_time();
    if (!time.ci_low || !time.ci_high || time.median <= 0) continue;
    const double width = relative_half_width({*time.ci_low, *time.ci_high}, time.median);
    sure += width <= kNoisyInterval ? 1U : 0U;
    if (width <= widest) continue;
    widest = width;
    widest_record = record;
  }
  if (widest_record == nullptr) return "No point has samples enough for an interval.";
  const TimeStats& time = *widest_record->main_time();
  return fmt::format(
      "The median is known within {:g} % at {} of {}; the widest interval is that of {}: {:+.1f} .. "
      "{:+.1f} %.",
      100 * kNoisyInterval, sure, counted(records.size(), "point"), view.name(*widest_record),
      100 * (*time.ci_low / time.median - 1), 100 * (*time.ci_high / time.median - 1));
}

// Every reason of each verdict, the one that decides it first. Beside a stable time stand remarks.
PageFigure reasons_figure(const PageView& view, const std::vector<const Record*>& records) {
  Grid grid{.name = "reasons",
            .title = "Reasons of the verdicts",
            .columns = {text_column("point", "Point"), text_column("verdict", "Verdict"),
                        text_column("reasons", "Reasons, the deciding one first")},
            .rows = {},
            .notes = {}};
  for (const Record* const record : records) {
    if (record->verdict.reasons.empty()) continue;
    const bool is_stable = record->verdict.rating == name_of(Stability::kStable);
    grid.rows.push_back({view.name(*record), verdict_text(*record) + (is_stable ? ", with a remark" : ""),
                         fmt::format("{}", fmt::join(record->verdict.reasons, "; "))});
  }
  return {.title = "Verdict of each point, with all its reasons", .table = page_table(grid)};
}

PageSection samples_section(const PageView& view) {
  PageSection section{.id = "samples", .title = "How sure: every sample and its interval"};
  const std::vector<const Record*> all = measured(view);
  constexpr size_t kMostStrips = 24;
  const std::vector<const Record*> records = first_of(all, kMostStrips);
  if (records.empty()) return section;
  Grid grid{.name = "samples",
            .title = "Samples",
            .columns = {text_column("point", "Point"),
                        {"sample", "Sample"},
                        {"seconds_s", "Time", Unit::kSeconds},
                        {"deviation", "From the median", Unit::kFraction}},
            .rows = {},
            .notes = {}};
  Json bands = Json::array();
  const double range = robust_range(records);
  for (const Record* const record : records) {
    const TimeStats& time = *record->main_time();
    const std::string name = view.name(*record);
    size_t below = 0;
    size_t above = 0;
    for (size_t i = 0; i < time.samples.size(); ++i) {
      const double deviation = time.samples[i] / time.median - 1;
      below += deviation < -range ? 1U : 0U;
      above += deviation > range ? 1U : 0U;
      grid.rows.push_back({name, i + 1, time.samples[i], deviation});
    }
    Json band{{"series", name}, {"text", time_and_verdict(*record)}, {"below", below}, {"above", above}};
    if (time.ci_low && time.ci_high) {
      band["low"] = *time.ci_low / time.median - 1;
      band["high"] = *time.ci_high / time.median - 1;
    }
    bands.push_back(std::move(band));
  }
  note_left_out(grid, records.size(), all.size());
  section.figures.push_back(
      {.title = "How far each sample lies from the median of its point",
       .reading = sureness_of(view, records),
       .summary =
           fmt::format(
               "A row is a point and a dot one of its samples, left of the middle where it was faster than the median "
               "and right where it was slower; none is dropped. The framed band is the 95 % interval of the median: "
               "the narrower, the surer; where it goes on beyond the axis, its frame is open. Within a row time goes "
               "from top to bottom, so that a cloud that leans says "
               "that steps got faster or slower. The axis ends at {} from the median; a triangle at its edge is a "
               "sample beyond it, and the number beside it is how many there are. Beside or above the dots stand the "
               "median, its interval and the verdict.",
               percent_text(range)) +
           left_out_sentence(records.size(), all.size()),
       .chart = {{"kind", "strip"},
                 {"series", "point"},
                 {"value", "deviation"},
                 {"text", "seconds_s"},
                 {"bands", std::move(bands)},
                 {"range", range},
                 {"axis_titles",
                  {"faster \u2190 distance from the median of the point, % \u2192 slower",
                   "distance from the median, %"}}},
       .table = page_table(grid)});
  if (PageFigure reasons = reasons_figure(view, records); !reasons.table.rows.empty())
    section.figures.push_back(std::move(reasons));
  return section;
}

}  // namespace laptime
