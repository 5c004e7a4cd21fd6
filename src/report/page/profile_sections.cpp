// Where the time of a step goes: classes of work, kernels, and ops under the roofline.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "analysis/launch_sums.h"
#include "base/units.h"
#include "record/metrics.h"
#include "report/model_name.h"
#include "report/page/gains.h"
#include "report/page/page_sections.h"
#include "report/page/page_words.h"
#include "report/page/pass_bound.h"
#include "report/page/traced_time.h"
#include "report/palette.h"
#include "report/profile/compared_profiles.h"
#include "report/profile/profile_report.h"
#include "report/profile/views.h"
#include "table/value_text.h"

namespace laptime {
namespace {

// The time of a mean step by phase and class, the classes of a phase together and the largest of them first. `step` is
// what the shares of ClassShare are of.
struct ClassedStep {
  std::vector<ClassShare> classes;
  double step = 0;                      // seconds
  const TracedPoint* traced = nullptr;  // where the times are of traced steps; null: of samples
};

// As the record states it, else of its trace; without classes where neither does.
ClassedStep classed_step(const Record& record, const std::vector<TracedPoint>& profiled) {
  ClassedStep classed{.classes = record.classes};
  if (classed.classes.empty()) {
    const auto found = std::find_if(profiled.begin(), profiled.end(),
                                    [&](const TracedPoint& point) { return point.record == &record; });
    if (found == profiled.end()) return classed;
    classed.traced = &*found;
    for (const std::vector<Json>& row : class_bars(*found->trace, {}).rows)
      classed.classes.push_back(
          {row[0].get<std::string>(), row[1].get<std::string>(), row[2].get<double>(), row[3].get<double>()});
  }
  for (const ClassShare& one : classed.classes) {
    if (one.share > 0) classed.step = std::max(classed.step, one.seconds / one.share);
  }
  return classed;
}

constexpr const char* kOther = "other";  // the class of time that no launch took
constexpr std::string_view kAttention = "attention";
constexpr std::string_view kLoss = "loss";
constexpr const char* kResidue = "residue";  // as a record names what its phases leave of a step

// Adds to each phase what its launches leave of it, and to the step what its phases leave: then all shares of the step
// add up to 1. Launches may have been timed in fewer steps than phases, so what they leave is bounded by what the step
// has.
void close_sums(const Record& record, ClassedStep& classed) {
  constexpr double kLeast = 1e-6;  // of the step: less is rounding
  std::map<std::string, double> left;
  double free = 1;
  for (const ClassShare& one : classed.classes) free -= one.share;
  double wanted = 0;
  for (const PhaseShare& phase : record.phases) {
    if (record.classes.empty() || phase.phase == kResidue) continue;  // the launches of a trace fill its phases
    double rest = phase.share;
    for (const ClassShare& one : classed.classes) rest -= one.phase == phase.phase ? one.share : 0;
    left[phase.phase] = std::max(0.0, rest);
    wanted += left[phase.phase];
  }
  const double scale = wanted > free ? std::max(0.0, free) / wanted : 1;
  std::vector<ClassShare> closed;
  const auto add_other = [&](const std::string& phase, double share) {
    if (share > kLeast) closed.push_back({phase, kOther, share * classed.step, share});
  };
  for (size_t i = 0; i < classed.classes.size(); ++i) {
    closed.push_back(classed.classes[i]);
    const std::string& phase = classed.classes[i].phase;
    if (i + 1 == classed.classes.size() || classed.classes[i + 1].phase != phase) add_other(phase, scale * left[phase]);
  }
  add_other(kResidue, free - scale * wanted);
  classed.classes = std::move(closed);
}

// Those of classes and of the time between launches.
Json class_chart_looks() {
  std::vector<NamedLook> looks(class_looks().begin(), class_looks().end());
  looks.push_back({kOther, look_of_class(kOther)});
  return looks_json(looks);
}

PageFigure table_figure(std::string title, std::string summary, const Grid& grid, bool is_open) {
  return {.title = std::move(title),
          .summary = std::move(summary),
          .chart = nullptr,
          .table = page_table(grid),
          .is_open = is_open};
}

// The points of the headline's model and context first, so that the headline is among those with room; then by model,
// context and pass, the more complete first, so that what differs in number type and mode alone stands together.
std::vector<const Record*> headline_first(const PageView& view) {
  std::vector<const Record*> records = view.timed();
  const Record* const headline = view.headline();
  if (headline == nullptr) return records;
  const auto work = [](const Record& record) {
    return std::pair(model_text(record), config_number(record, "context_length").value_or(0));
  };
  const auto order = [&](const Record& one) {
    return std::tuple(work(one) != work(*headline), work(one), -rank_of_pass(one));
  };
  std::stable_sort(records.begin(), records.end(),
                   [&](const Record* a, const Record* b) { return order(*a) < order(*b); });
  return records;
}

// The measured median of a phase; of a pass that is one phase, that of the pass. None where it was not timed alone.
std::optional<double> measured_phase(const Record& record, const std::string& phase, bool is_only_phase) {
  if (const TimeStats* const time = time_of_part(record, phase)) return time->median;
  return is_only_phase ? std::optional(record.main_time()->median) : std::nullopt;
}

// What a reader of the classes must be told of those that are drawn.
struct DrawnClasses {
  bool some_other = false;
  bool some_attention = false;  // as a class of its own
  bool some_softmax = false;    // of attention that runs op by op
  bool some_loss_in_inference = false;
  bool some_differ = false;  // traced times from measured ones

  void add(const Record& record, const ClassedStep& classed) {
    for (const ClassShare& one : classed.classes) {
      some_other = some_other || (one.work_class == kOther && one.phase != kResidue);
      some_attention = some_attention || one.work_class == kAttention;
      some_softmax = some_softmax || one.work_class == kSoftmaxClass;
      some_loss_in_inference =
          some_loss_in_inference || (one.work_class == kLoss && record.config.text("pass") == "inference");
    }
  }

  std::string explained() const {
    std::string text;
    if (some_other) text += " The part called other is time between launches.";
    if (some_attention && some_softmax) {
      text +=
          " Attention is a class of its own where one kernel does all of it, as compile mode has it; where eager mode "
          "runs it op by op, it is matrix products, softmax, elementwise ops and copies.";
    }
    if (some_loss_in_inference) text += " Inference ends with the loss too: the model is run on known text.";
    if (some_differ) text += " The measured time follows where the traced one is more than 10 % from it.";
    return text;
  }
};

// "step bfloat16 compile: matmul takes 79 % of the time, optimizer 11 %, elementwise 3.0 %."
std::string largest_classes(const std::string& name, const ClassedStep& classed) {
  constexpr size_t kMost = 4;
  std::map<std::string, double> shares;
  for (const ClassShare& one : classed.classes) shares[one.work_class] += one.share;
  std::vector<std::pair<std::string, double>> largest(shares.begin(), shares.end());
  std::stable_sort(largest.begin(), largest.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  largest.resize(std::min(largest.size(), kMost));
  std::vector<std::string> parts;
  parts.reserve(largest.size());
  for (const auto& [work_class, share] : largest) {
    parts.push_back(fmt::format("{} {}{}", work_class, percent_text(share), parts.empty() ? " of the time" : ""));
  }
  return fmt::format("{}: {}.", name, fmt::join(parts, ", "));
}

constexpr int64_t kKernelRows = 20;

// Ops on one side of the ridge.
struct RooflineSide {
  double seconds = 0;
  double floor = 0;  // seconds that the roofline allows; an op above the line counts as at its bound
  double above = 0;  // seconds of ops above the line

  void add(const RooflineDot& dot, double bound) {
    seconds += dot.seconds;
    floor += dot.seconds * std::min(1.0, dot.rate / bound);
    if (dot.rate > bound) above += dot.seconds;
  }
};

// How much of the time arithmetic bounds and how much memory, and how near to the bound each is.
std::string what_bounds(const std::vector<RooflineDot>& dots, double peak, double bandwidth) {
  RooflineSide arithmetic;
  RooflineSide memory;
  for (const RooflineDot& dot : dots) {
    const bool is_right = dot.intensity * bandwidth >= peak;
    (is_right ? arithmetic : memory).add(dot, is_right ? peak : dot.intensity * bandwidth);
  }
  const double all = arithmetic.seconds + memory.seconds;
  std::vector<std::string> sides;
  const auto add = [&](const RooflineSide& side, std::string_view bound, std::string_view where) {
    if (side.seconds <= 0) return;
    sides.push_back(
        fmt::format("{} of the time is in ops {} of the ridge, whose nearer bound is {}; they reach {} of it",
                    percent_text(side.seconds / all), where, bound, percent_text(side.floor / side.seconds)));
  };
  add(arithmetic, "arithmetic", "right");
  add(memory, "memory", "left");
  constexpr double kNear = 0.5;  // of a bound
  const bool is_near = arithmetic.floor + memory.floor > kNear * all;
  const double above = arithmetic.above + memory.above;
  const std::string counted =
      above <= 0 ? "" : fmt::format(" Ops above the line, {} of the time, count as at it.", percent_text(above / all));
  return fmt::format("{}.{}{}", fmt::join(sides, "; "), counted,
                     is_near ? "" : " Most of the time, neither is used to the full.");
}

// Why the share of the peak of the whole step is not that of its products; empty where one of them is not known.
std::string two_shares(const TracedPoint& point, const std::vector<RooflineDot>& dots) {
  const Record& record = *point.record;
  const TimeStats* const time = record.main_time();
  if (!record.flops.mfu_measured || time == nullptr || time->count == 0 || is_predicted(record)) return "";
  double flops = 0;
  double seconds = 0;
  for (const RooflineDot& dot : dots) {
    if (dot.work_class != kProductClass) continue;
    flops += dot.rate * dot.seconds;
    seconds += dot.seconds;
  }
  if (seconds <= 0) return "";
  const double step = totals_of(*point.trace).step;
  return fmt::format(
      "{}: {} of the peak is what the whole step reaches, all its model FLOPs over its measured median of {}; {} is "
      "what its matrix products reach, their FLOPs over the {} that they take in a traced step of {}, which is {}.",
      point.name, percent_text(*record.flops.mfu_measured), format_seconds(time->median),
      percent_text(flops / seconds / *point.trace->peak_flops), format_seconds(seconds), format_seconds(step),
      against_measured(step, time->median));
}

constexpr size_t kMostNumbered = 20;    // ops in the list of a roofline
constexpr double kLeastMarked = 0.005;  // of the time: numbers of lesser ops would cover the plot
constexpr size_t kMostRooflines = 4;    // one plot for each of number type and mode

}  // namespace

PageSection classes_section(const PageView& view) {
  PageSection section{.id = "classes", .title = "Where the time goes: classes of work"};
  const std::vector<TracedPoint> profiled = view.profiled();
  Grid grid{.name = "classes",
            .title = "Time by class of work",
            .columns = {text_column("point", "Point"),
                        text_column("phase", "Phase"),
                        text_column("class", "Class"),
                        {"seconds_s", "Time", Unit::kSeconds},
                        {"share", "Share of the phase", Unit::kFraction},
                        {"step_share", "Share of the step", Unit::kFraction}},
            .rows = {},
            .notes = {"Mean time per step. Other is what no launch took: in a phase the time between its launches, and "
                      "in the residue that of the step outside of its phases."}};
  size_t points = 0;
  size_t drawn_points = 0;
  DrawnClasses drawn;
  std::vector<TracedPoint> traced;
  Json texts = Json::array();  // the time of each bar
  std::string reading;         // of the headline, else of the first point
  for (const Record* const record : headline_first(view)) {
    ClassedStep classed = classed_step(*record, profiled);
    if (classed.classes.empty()) continue;
    ++points;
    close_sums(*record, classed);
    std::map<std::string, double> phases;
    for (const ClassShare& one : classed.classes) phases[one.phase] += one.seconds;
    const size_t drawn_phases = phases.size() - phases.count(kResidue);
    if (drawn_points + 1 < points || texts.size() + drawn_phases > kMostBars) continue;
    ++drawn_points;
    if (classed.traced != nullptr) traced.push_back(*classed.traced);
    drawn.add(*record, classed);
    if (reading.empty() || record == view.headline()) reading = largest_classes(view.name(*record), classed);
    std::string phase;
    for (const ClassShare& one : classed.classes) {
      const double whole = phases[one.phase];
      const bool is_drawn = one.phase != kResidue && whole > 0;
      if (is_drawn && one.phase != phase) {
        std::string text = format_seconds(whole);
        if (drawn_phases > 1 && classed.step > 0)
          text += fmt::format(", {} of the {}", percent_text(whole / classed.step), record->config.text("pass"));
        const std::optional<double> measured = measured_phase(*record, one.phase, drawn_phases == 1);
        if (classed.traced != nullptr && !is_predicted(*record) && measured && differs_much(whole, *measured)) {
          text += fmt::format("; measured {}", format_seconds(*measured));
          drawn.some_differ = true;
        }
        texts.push_back(std::move(text));
      }
      phase = one.phase;
      grid.rows.push_back({view.name(*record), one.phase, one.work_class, one.seconds,
                           is_drawn ? Json(one.seconds / whole) : Json(), one.share});
    }
  }
  if (grid.rows.empty()) return section;
  note_left_out(grid, drawn_points, points);
  std::string summary =
      "Each bar is one phase of one point, all of one length; its parts are the classes of work with their shares of "
      "the time of the phase, and add up to 100 %. Beside or above a bar stand that time and its share of the pass.";
  summary += drawn.explained() + left_out_sentence(drawn_points, points);
  if (const std::string sentence = traced_times_sentence(traced); !sentence.empty()) summary += " " + sentence;
  section.figures.push_back({.title = "What the time of each phase is spent on, by class of work",
                             .reading = std::move(reading),
                             .summary = std::move(summary),
                             .chart = {{"kind", "shares"},
                                       {"labels", {"point", "phase"}},
                                       {"part", "class"},
                                       {"value", "share"},
                                       {"texts", std::move(texts)},
                                       {"looks", class_chart_looks()},
                                       {"axis_title", "share of the phase, %"}},
                             .table = page_table(grid)});
  return section;
}

PageSection kernels_section(const PageView& view) {
  PageSection section{.id = "kernels", .title = "Where the time goes: kernels"};
  const std::vector<TracedPoint> profiled = view.profiled();
  for (size_t i = 0; i < std::min(profiled.size(), kMostPanels); ++i) {
    const TracedPoint& point = profiled[i];
    const ProfileQuery query{.view = ProfileView::kKernels, .top = kKernelRows};
    const PointReport report = profile_report(*point.record, *point.trace, query);
    for (size_t line = 0; line < report.lines.size(); ++line) {
      if (i == 0 || line == 0) section.lines.push_back(fmt::format("{}: {}.", point.name, report.lines[line]));
    }
    PageFigure kernels = table_figure(fmt::format("Kernels of {}, per step", point.name),
                                      "The columns are those of nsys stats.", report.grids.back(), i == 0);
    kernels.table.notes = {};
    if (const Grid& grid = report.grids.back(); !grid.notes.empty())
      kernels.summary += " Kernels with less time are left out; laptime profile --view kernels --top 0 has them.";
    section.figures.push_back(std::move(kernels));
    if (i > 0) continue;
    for (const ProfileView other : {ProfileView::kAttention, ProfileView::kLayers}) {
      for (const Grid& grid : view_tables(*point.trace, {.view = other})) {
        if (!grid.rows.empty())
          section.figures.push_back(table_figure(fmt::format("{}: {}", point.name, grid.title), "", grid, false));
      }
    }
  }
  if (const auto pairs = eager_and_compile(profiled); !pairs.empty()) {
    const auto& [eager, compiled] = pairs.front();
    for (const Grid& grid : compare_profiles({"eager", eager.trace}, {"compile", compiled.trace}))
      section.figures.push_back(table_figure(fmt::format("{}: {}", compiled.name, grid.title), "", grid, false));
  }
  return section;
}

PageSection roofline_section(const PageView& view) {
  PageSection section{.id = "roofline", .title = "What bounds it: the roofline"};
  const std::vector<TracedPoint> profiled = view.profiled();
  size_t plots = 0;
  for (const TracedPoint& point : profiled) {
    const StepTrace& trace = *point.trace;
    const std::vector<RooflineDot> dots = roofline_dots(trace);
    if (dots.empty() || !trace.peak_flops || !trace.bandwidth) continue;
    if (plots++ == kMostRooflines) break;
    Grid grid{.name = "roofline",
              .title = "Ops under the roofline",
              .columns = {text_column("phase", "Phase"),
                          text_column("op", "Op"),
                          text_column("class", "Class"),
                          {"flop_per_byte", "FLOP per byte"},
                          {"flops_per_second", "Rate", Unit::kFlopsPerSecond},
                          {"seconds_s", "Time per step", Unit::kSeconds},
                          {"of_bound", "Of bound", Unit::kFraction},
                          text_column("text", "time, share, of bound")},
              .rows = {},
              .notes = {"Of bound: the rate over what the roofline allows; above 100 % operands come from caches."}};
    double seconds = 0;
    for (const RooflineDot& dot : dots) seconds += dot.seconds;
    const auto marked = std::count_if(dots.begin(), dots.end(), [&](const RooflineDot& dot) {
      return std::round(1000 * dot.seconds / seconds) >= std::round(1000 * kLeastMarked);  // as the list shows shares
    });
    for (const RooflineDot& dot : dots) {
      const double bound = std::min(*trace.peak_flops, dot.intensity * *trace.bandwidth);
      grid.rows.push_back({dot.phase, dot.op, dot.work_class, dot.intensity, dot.rate, dot.seconds, dot.rate / bound,
                           fmt::format("{}, {}, {}", format_seconds(dot.seconds), percent_text(dot.seconds / seconds),
                                       percent_text(dot.rate / bound))});
    }
    const std::string doubt = phases_doubt(*point.record, trace);
    section.figures.push_back(
        {.title = fmt::format("Ops of {} under the roofline", point.name),
         .reading = what_bounds(dots, *trace.peak_flops, *trace.bandwidth) +
                    (doubt.empty() ? "" : fmt::format(" But the {}.", doubt)),
         .summary = fmt::format(
             "A mark is an op in one phase, its area the time that it takes in a traced step; its number leads to the "
             "list, which has that time, its share of the time of these ops, and how much of its bound the op "
             "reaches{}. Ops with less than {:g} % of the time have no number. The line is what the {} ({}/s) and the "
             "{} ({}B/s) allow; a mark above its slope finds its "
             "operands in the caches, one above its flat part ran when the clock was faster than while the peak was "
             "measured. Left of the ridge at {:.3g} FLOP per byte memory bounds an op, right of it arithmetic; a "
             "mark far below the line uses neither to the full.",
             dots.size() > kMostNumbered ? fmt::format(" (the {} longest of {})", kMostNumbered, dots.size()) : "",
             100 * kLeastMarked, bounding_peak_name(*point.record), format_flops(*trace.peak_flops),
             bandwidth_name(*point.record), format_count(*trace.bandwidth), *trace.peak_flops / *trace.bandwidth),
         .chart = {{"kind", "roofline"},
                   {"x", "flop_per_byte"},
                   {"y", "flops_per_second"},
                   {"size", "seconds_s"},
                   {"label", {"phase", "op"}},
                   {"text", "text"},
                   {"text_title", "time, share, of bound"},
                   {"numbered", kMostNumbered},
                   {"marked", marked},
                   {"part", "class"},
                   {"looks", class_chart_looks()},
                   {"peak", *trace.peak_flops},
                   {"bandwidth", *trace.bandwidth},
                   {"axis", axis_of(*trace.peak_flops, Unit::kFlopsPerSecond)},
                   {"peak_text",
                    fmt::format("{} {}/s", bounding_peak_name(*point.record), format_flops(*trace.peak_flops))},
                   {"peak_short", fmt::format("peak {}/s", format_flops(*trace.peak_flops))},
                   {"bandwidth_text",
                    fmt::format("{} {}B/s", bandwidth_name(*point.record), format_count(*trace.bandwidth))},
                   {"bandwidth_short", fmt::format("{}B/s", format_count(*trace.bandwidth))}},
         .table = page_table(grid)});
    if (std::string sentence = two_shares(point, dots); !sentence.empty()) section.lines.push_back(std::move(sentence));
  }
  if (std::optional<PageFigure> bounds = bounds_figure(profiled))
    section.figures.insert(section.figures.begin(), *std::move(bounds));
  return section;
}

}  // namespace laptime
