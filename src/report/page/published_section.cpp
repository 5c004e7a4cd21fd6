// Times that other people published, beside those of the page where they are of the same work.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/units.h"
#include "record/metrics.h"
#include "report/column_sets/readers.h"
#include "report/page/page_sections.h"
#include "report/page/page_words.h"
#include "report/published/published.h"
#include "report/row.h"
#include "report/speedup.h"

namespace laptime {
namespace {

// What a time is of. Only times of equal work are drawn in one chart.
struct Work {
  std::string pass;
  std::string model;
  std::string edition;
  std::optional<int64_t> context;
  std::optional<int64_t> batch;

  friend bool operator==(const Work&, const Work&) = default;
  std::string text() const {
    std::string text = fmt::format("{} of {} ({})", pass, model, edition);
    if (context) text += fmt::format(", context {}", *context);
    if (batch) text += fmt::format(", batch {}", *batch);
    return text;
  }
};

Work work_of(const PublishedFigure& figure) {
  return {figure.pass, figure.model, figure.edition, figure.context_length, figure.batch_size};
}

constexpr const char* kHere = "here";
constexpr const char* kPredictedHere = "predicted here";
constexpr const char* kPublished = "published";  // with nothing here to hold it against
constexpr const char* kSameArithmetic = "published, same arithmetic";
constexpr const char* kOtherArithmetic = "published, other arithmetic";

// How a chart marks a time: our own with a diamond, a published one with a dot; the mark is full or hollow.
struct TimeKind {
  const char* name;
  bool is_own;
  bool is_full;
};
constexpr std::array kTimeKinds{TimeKind{kPublished, false, true}, TimeKind{kSameArithmetic, false, true},
                                TimeKind{kOtherArithmetic, false, false}, TimeKind{kHere, true, true},
                                TimeKind{kPredictedHere, true, false}};

Json kinds_json() {
  Json kinds = Json::array();
  for (const TimeKind& kind : kTimeKinds)
    kinds.push_back({{"name", kind.name}, {"own", kind.is_own}, {"full", kind.is_full}});
  return kinds;
}

// One time of a work.
struct TimeOfWork {
  std::string label;  // who: hardware, program, mode, arithmetic
  std::string name;   // told beside the label where several have the same: a source or a point
  std::string where;  // "here", "predicted here", "published"
  std::optional<double> seconds;
  std::optional<double> std;
  const Record* record = nullptr;  // of the page's own, with its time
  const TimeStats* stats = nullptr;
  std::string certainty;  // of the arithmetic
  std::optional<int64_t> warmup{};
  std::string note{};
  bool drawn = true;
  std::string arithmetic{};  // of a published time

  bool is_published() const { return where == kPublished; }
};

using WorkTimes = std::pair<Work, std::vector<TimeOfWork>>;

// How the arithmetic of a record is known.
std::string certainty_of(const Record& record) {
  if (is_predicted(record)) return "predicted";
  if (system_of(record).empty()) return "proven";
  return record.math_mode.empty() ? "not known" : "stated";
}

TimeOfWork own_time(const PageView& view, const Record& record, const std::string& pass, const TimeStats& time) {
  const Json arithmetic = cells::arithmetic_of(Row(record), "");
  const std::string system = system_of(record);
  const bool predicted = is_predicted(record);
  const bool is_main = &time == record.main_time();
  return {
      .label = fmt::format("{}, {} {}{}", predicted ? record.config.text("device") + " predicted" : machine_of(record),
                           system.empty() ? "laptime" : record.binary.version, record.config.text("mode"),
                           arithmetic.is_string() ? ", " + arithmetic.get<std::string>() : ""),
      .name = view.name(record),
      .where = predicted ? kPredictedHere : kHere,
      .seconds = time.median,
      .std = predicted ? std::nullopt : time.std,
      .record = &record,
      .stats = &time,
      .certainty = certainty_of(record),
      .note = is_main ? "" : fmt::format("the phase {} of a {}", pass, record.config.text("pass"))};
}

TimeOfWork published_time(const PublishedFigure& figure) {
  return {.label = fmt::format("{}, {} {}, {}{}", figure.hardware, figure.software, figure.mode, figure.arithmetic,
                               figure.certainty == kDoubtful ? " (doubtful)" : ""),
          .name = figure.source,
          .where = kPublished,
          .seconds = figure.seconds,
          .std = figure.std,
          .certainty = figure.certainty,
          .warmup = figure.warmup,
          .note = figure.seconds ? figure.note : "out of memory",
          .arithmetic = figure.arithmetic};
}

// Adds to the labels that several drawn times have what tells these times apart.
void tell_apart(std::vector<TimeOfWork>& times, const std::function<std::string(const TimeOfWork&)>& what) {
  std::map<std::string, std::set<std::string>> found;
  for (const TimeOfWork& time : times) {
    if (time.drawn) found[time.label].insert(what(time));
  }
  for (TimeOfWork& time : times) {
    const std::string text = what(time);
    if (found[time.label].size() > 1 && !text.empty()) time.label += ", " + text;
  }
}

// The times of a work, the shortest first and those that ran out of memory last. Of the times that one source
// measured in one way with several warm-ups the one with most is drawn.
std::vector<TimeOfWork> times_of(const PageView& view, const Work& work) {
  std::vector<TimeOfWork> times;
  for (const PublishedFigure& figure : published_figures()) {
    if (work_of(figure) == work) times.push_back(published_time(figure));
  }
  for (const Record* const record : view.timed()) {
    const auto time = record->time.find(work.pass);
    if (time == record->time.end() || time->second.count == 0) continue;
    const bool same = std::any_of(published_figures().begin(), published_figures().end(), [&](const auto& figure) {
      return work_of(figure) == work && is_of_same_model(figure, *record);
    });
    if (same) times.push_back(own_time(view, *record, work.pass, time->second));
  }
  std::map<std::pair<std::string, std::string>, int64_t> most_warmup;
  for (const TimeOfWork& time : times) {
    int64_t& most = most_warmup[{time.label, time.name}];
    most = std::max(most, time.warmup.value_or(0));
  }
  for (TimeOfWork& time : times) {
    time.drawn = time.seconds && (!time.warmup || *time.warmup == most_warmup[{time.label, time.name}]);
  }
  std::stable_sort(times.begin(), times.end(), [](const TimeOfWork& a, const TimeOfWork& b) {
    constexpr double kNever = std::numeric_limits<double>::infinity();
    return a.seconds.value_or(kNever) < b.seconds.value_or(kNever);
  });
  tell_apart(times, [](const TimeOfWork& time) { return time.name; });
  tell_apart(times, [](const TimeOfWork& time) { return time.warmup ? fmt::format("warm-up {}", *time.warmup) : ""; });
  return times;
}

// The shortest time of the page, a measured one where there is one.
const TimeOfWork* fastest_own(const std::vector<TimeOfWork>& times) {
  for (const std::string_view where : {kHere, kPredictedHere}) {
    const auto found =
        std::find_if(times.begin(), times.end(), [&](const TimeOfWork& time) { return time.where == where; });
    if (found != times.end()) return &*found;
  }
  return nullptr;
}

// The time of this page that a published time is compared with: the shortest in the same arithmetic, else the shortest.
struct Counterpart {
  const TimeOfWork* own = nullptr;  // null: none of this work is of the page
  bool is_alike = false;
};
Counterpart counterpart_of(const TimeOfWork& published, const std::vector<TimeOfWork>& times) {
  for (const std::string_view where : {kHere, kPredictedHere}) {
    const auto found = std::find_if(times.begin(), times.end(), [&](const TimeOfWork& time) {
      return time.where == where && published.certainty != kDoubtful &&
             is_same_arithmetic(published.arithmetic, *time.record);
    });
    if (found != times.end()) return {&*found, true};
  }
  return {fastest_own(times), false};
}

// How a chart marks the time: the name of one of kTimeKinds.
std::string kind_of(const TimeOfWork& time, const std::vector<TimeOfWork>& times) {
  if (!time.is_published()) return time.where;
  const Counterpart counterpart = counterpart_of(time, times);
  if (counterpart.own == nullptr) return time.where;
  return counterpart.is_alike ? kSameArithmetic : kOtherArithmetic;
}

// The time as people read it: a published one against the page's own, with its source; one of the page with its
// interval and verdict.
std::string text_of(const TimeOfWork& time, const std::vector<TimeOfWork>& times) {
  if (!time.seconds) return "out of memory";
  std::string seconds = format_seconds(*time.seconds);
  if (time.is_published()) {
    const auto [own, is_alike] = counterpart_of(time, times);
    if (own != nullptr) {
      seconds += fmt::format(", {}{}", published_against(*time.seconds, *own->record, *own->stats, ""),
                             is_alike ? "" : " in another arithmetic");
    }
    return fmt::format("{}; {}", seconds, time.name);
  }
  if (time.stats != time.record->main_time()) return seconds;
  const std::string median = cell_of("median", *time.record);
  return is_predicted(*time.record) ? median : fmt::format("{}, {}", median, verdict_and_reason(*time.record));
}

Grid grid_of(std::string title, const std::vector<WorkTimes>& works) {
  Grid grid{.name = "published",
            .title = std::move(title),
            .columns = {text_column("work", "Work"),
                        text_column("label", "Hardware, program and mode, arithmetic"),
                        text_column("where", "Where"),
                        {"time_s", "Time", Unit::kSeconds},
                        text_column("kind", "Like for like"),
                        text_column("text", "Time, against this page, and source"),
                        {"std_s", "Std", Unit::kSeconds},
                        {"warmup", "Warm-up"},
                        text_column("certainty", "Arithmetic is"),
                        text_column("name", "Source or point"),
                        text_column("note", "Note")},
            .rows = {},
            .notes = {"Arithmetic is proven where the names of the kernels show it, stated where only the source says "
                      "so, and doubtful where the throughput or the source speaks against it."}};
  for (const auto& [work, times] : works) {
    for (const TimeOfWork& time : times) {
      grid.rows.push_back({work.text(), time.label, time.where, or_null(time.seconds), kind_of(time, times),
                           text_of(time, times), or_null(time.std), or_null(time.warmup), time.certainty, time.name,
                           time.note});
    }
  }
  return grid;
}

// What the chart of a work leaves out: " The table has also 2 that ran out of memory."
std::string left_out_of(const std::vector<TimeOfWork>& times) {
  size_t without_memory = 0;
  size_t repeated = 0;
  for (const TimeOfWork& time : times) {
    if (time.drawn) continue;
    ++(time.seconds ? repeated : without_memory);
  }
  std::vector<std::string> parts;
  if (without_memory > 0) parts.push_back(fmt::format("{} that ran out of memory", without_memory));
  if (repeated > 0) parts.push_back(fmt::format("{} with less warm-up", repeated));
  return parts.empty() ? "" : fmt::format(" Only the table has {}.", fmt::join(parts, " and "));
}

// The shortest and the longest time of a chart, seconds.
std::pair<double, double> range_of(const std::vector<TimeOfWork>& times) {
  std::pair<double, double> range{std::numeric_limits<double>::infinity(), 0};
  for (const TimeOfWork& time : times) {
    if (!time.drawn) continue;
    range = {std::min(range.first, *time.seconds), std::max(range.second, *time.seconds)};
  }
  return range;
}

// "The fastest of this page is AMD EPYC, laptime compile, bfloat16 autocast with 1.106 s, the shortest published time
// 49.80 ms (H100 80 GB, PyTorch compile, float32)."
std::string fastest_against(const TimeOfWork& own, const std::vector<TimeOfWork>& times) {
  const auto published = std::find_if(times.begin(), times.end(),
                                      [](const TimeOfWork& time) { return time.is_published() && time.seconds; });
  std::string text = fmt::format("The fastest of this page is {} with {}", own.label, format_seconds(*own.seconds));
  if (published != times.end())
    text +=
        fmt::format("; the shortest published time is {} ({})", format_seconds(*published->seconds), published->label);
  return text + ".";
}

PageFigure figure_of(const WorkTimes& one) {
  const auto& [work, times] = one;
  const auto [least, most] = range_of(times);
  const TimeOfWork* const own = fastest_own(times);
  std::string reading;
  std::string summary = "The shortest time first, on a logarithmic axis. ";
  if (own == nullptr) {
    summary += "Each dot is a published time.";
    reading = "No time of this work is of this page.";
  } else {
    summary +=
        "A diamond is of this page, a hollow one predicted, and the upright line is the fastest of them. A "
        "full dot is a published time in an arithmetic "
        "that this page has too, with how many times as fast it is as the fastest of the page in that arithmetic; a "
        "hollow dot has another arithmetic and is held against the fastest of the page. Behind each stands its source.";
    reading = fastest_against(*own, times);
    const std::string doubt = verdict_against_comparing(*own->record);
    if (own->where == kHere && !doubt.empty()) {
      summary += fmt::format(" That is rough, because the verdict on the fastest of this page is {}.", doubt);
    } else if (own->where == kHere && own->stats->ci_low) {
      summary += " In brackets stands what the 95 % interval of the fastest allows.";
    }
  }
  Json rows = Json::array();
  for (size_t i = 0; i < times.size(); ++i) {
    if (times[i].drawn) rows.push_back(i);
  }
  return {.title = work.text(),
          .reading = std::move(reading),
          .summary = summary + left_out_of(times),
          .chart = {{"kind", "ranked"},
                    {"label", "label"},
                    {"value", "time_s"},
                    {"where", "kind"},
                    {"kinds", kinds_json()},
                    {"text", "text"},
                    {"rows", std::move(rows)},
                    {"own", own == nullptr ? Json() : Json(*own->seconds)},
                    {"least", least},
                    {"most", most},
                    {"axis", axis_of(most, Unit::kSeconds)},
                    {"axis_title", "time"}},
          .table = page_table(grid_of("Times of one work", {one}))};
}

// The works of the page whose time someone published: the most complete pass first, within it the works of the
// headline.
std::vector<Work> works_of(const PageView& view) {
  std::vector<Work> works;
  std::vector<std::pair<bool, Work>> found;
  for (const Record* const record : view.timed()) {
    for (const PublishedFigure& figure : published_figures()) {
      const auto time = record->time.find(figure.pass);
      if (!figure.seconds || time == record->time.end() || time->second.count == 0 ||
          !is_of_same_model(figure, *record))
        continue;
      const bool is_headline = view.headline() != nullptr && is_of_same_model(figure, *view.headline());
      std::pair<bool, Work> one{is_headline, work_of(figure)};
      if (std::find(found.begin(), found.end(), one) == found.end()) found.push_back(std::move(one));
    }
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return std::pair(a.first, rank_of_pass(a.second.pass)) > std::pair(b.first, rank_of_pass(b.second.pass));
  });
  works.reserve(found.size());
  for (auto& [is_headline, work] : found) works.push_back(std::move(work));
  return works;
}

// Whole steps that people published.
std::vector<Work> published_steps() {
  std::vector<Work> works;
  for (const PublishedFigure& figure : published_figures()) {
    if (Work work = work_of(figure);
        figure.pass == "step" && figure.seconds && std::find(works.begin(), works.end(), work) == works.end())
      works.push_back(std::move(work));
  }
  return works;
}

// The works whose context length is nearest to that of the headline.
std::vector<Work> nearest_works(const PageView& view, const std::vector<Work>& works) {
  const int64_t wanted = view.headline() == nullptr ? 0 : config_number(*view.headline(), "context_length").value_or(0);
  const auto distance = [&](const Work& work) { return std::abs(work.context.value_or(0) - wanted); };
  int64_t least = std::numeric_limits<int64_t>::max();
  for (const Work& work : works) least = std::min(least, distance(work));
  std::vector<Work> nearest;
  for (const Work& work : works) {
    if (distance(work) == least) nearest.push_back(work);
  }
  return nearest;
}

}  // namespace

PageSection published_section(const PageView& view) {
  PageSection section{.id = "published", .title = "Times that other people published"};
  const std::vector<Work> matched = works_of(view);
  std::vector<WorkTimes> drawn;
  for (const Work& work : matched.empty() ? nearest_works(view, published_steps()) : matched) {
    if (drawn.size() < kMostPanels) drawn.emplace_back(work, times_of(view, work));
  }
  for (const WorkTimes& one : drawn) section.figures.push_back(figure_of(one));
  std::vector<WorkTimes> all;
  for (const Work& work : matched.empty() ? published_steps() : matched) all.emplace_back(work, times_of(view, work));
  if (all.size() > drawn.size()) {
    section.figures.push_back({.title = matched.empty()
                                            ? "All published times of whole steps"
                                            : fmt::format("All {} works that someone published", all.size()),
                               .table = page_table(grid_of("Published times", all))});
  }
  if (matched.empty()) {
    section.lines.emplace_back(
        "Nobody published a time of a model, context, batch and pass of this page, so none is compared. These are "
        "whole steps of other models at the context nearest to that of this page. For a comparison, measure one of "
        "these works, for example with laptime bench --model small --context 128 --batch 4, and make the page again.");
  } else {
    section.lines.emplace_back(
        "Each chart has times of the same model, context, batch and pass; full dots are of the same arithmetic too. "
        "The machines and programs differ.");
  }
  section.lines.emplace_back(
      "Compare arithmetic before times: several sources call float32 what their kernels show to be TF32.");
  return section;
}

}  // namespace laptime
