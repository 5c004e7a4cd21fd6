// Questions about the time and memory of a step, answered in sentences from the records. Their words are the headings
// of docs/walkthrough.md, which has a command for each; they come from the source documents.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/units.h"
#include "base/words.h"
#include "record/metrics.h"
#include "report/first_steps.h"
#include "report/memory/ledger.h"
#include "report/memory/memory_report.h"
#include "report/page/gains.h"
#include "report/page/page_sections.h"
#include "report/page/page_words.h"
#include "report/page/traced_time.h"
#include "report/profile/launch_sums.h"
#include "report/profile/profile_report.h"
#include "report/profile/views.h"
#include "report/speedup.h"

namespace laptime {
namespace {

constexpr size_t kMostAnswers = 6;

// Classes of work.
constexpr std::string_view kProductWork = "matmul";
constexpr std::string_view kCastWork = "cast";

constexpr const char* kNumberType = "dtype";

// What the records say, and what follows from it or why nothing does.
struct Answers {
  std::vector<std::string> lines{};
  std::string conclusion{};

  bool is_empty() const { return lines.empty(); }
  bool is_full(size_t most = kMostAnswers) const { return lines.size() >= most; }
  void add(std::string line) { lines.push_back(std::move(line)); }
};

// "0.52 to 0.61", "0.52" where both ends read alike.
template <class Text>
std::string range_of(std::vector<double> values, const Text& text) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  const std::string from = text(*low);
  const std::string to = text(*high);
  return from == to ? from : fmt::format("{} to {}", from, to);
}

// "all 4", "3 of 4".
std::string how_many(size_t some, size_t all) {
  return some == all ? fmt::format("all {}", all) : fmt::format("{} of {}", some, all);
}

const TimeStats* phase_time(const Record& record, const char* phase) {
  const auto found = record.time.find(phase);
  return found == record.time.end() || found->second.count == 0 ? nullptr : &found->second;
}

Answers times_and_spread(const PageView& view) {
  Answers answers;
  std::vector<double> ratios;  // backward over forward, of times that can be relied on
  size_t told = 0;
  for (const Record* const record : view.timed()) {
    const TimeStats* const forward = phase_time(*record, "forward");
    const TimeStats* const backward = phase_time(*record, "backward");
    if (forward == nullptr || backward == nullptr) continue;
    ++told;
    if (verdict_against_comparing(*record).empty() && forward->median > 0)
      ratios.push_back(backward->median / forward->median);
    if (answers.is_full()) continue;
    const TimeStats& whole = *record->main_time();
    std::string text = fmt::format("{}: forward {}, backward {}", view.name(*record), format_seconds(forward->median),
                                   format_seconds(backward->median));
    if (&whole != forward && &whole != backward)
      text += fmt::format(", {} {}", record->config.text("pass"), format_seconds(whole.median));
    if (!is_predicted(*record) && whole.std && whole.mean > 0) {
      text += fmt::format("; the standard deviation of {} samples is {} of the mean ({})", whole.count,
                          page_percent(*whole.std / whole.mean), verdict_and_reason(*record));
    }
    answers.add(text + ".");
  }
  answers.conclusion = ratios.empty()
                           ? "none, because no point with both phases has a time that can be relied on."
                           : fmt::format(
                                 "backward takes {} times as long as forward, by {} points with times that can be "
                                 "relied on.",
                                 range_of(ratios, [](double ratio) { return fmt::format("{:.2f}", ratio); }),
                                 how_many(ratios.size(), told));
  return answers;
}

Answers first_steps(const PageView& view) {
  Answers answers;
  std::vector<const Record*> slow;
  for (const Record* const record : view.timed()) {
    if (!is_predicted(*record) && record->transient.excess) slow.push_back(record);
  }
  if (slow.empty()) return answers;
  const auto relative = [](const Record* record) { return *record->transient.excess / record->main_time()->median; };
  std::stable_sort(slow.begin(), slow.end(),
                   [&](const Record* a, const Record* b) { return relative(a) > relative(b); });
  const Record& worst = *slow.front();
  for (size_t i = 0; i < std::min<size_t>(slow.size(), 3); ++i) {
    const Transient& first = slow[i]->transient;
    if (*first.excess <= 0) {
      if (i == 0) answers.add("Here they do not: no first step was longer than the steady ones.");
      break;
    }
    answers.add(fmt::format("{}: {}.", view.name(*slow[i]), first_steps_text(*slow[i])));
  }
  answers.conclusion =
      *worst.transient.excess <= 0
          ? "warm-up is not needed for the time of a step here."
          : fmt::format(
                "without warm-up the first steps of {} would add {:.2g} steady steps to its time, the most of "
                "{}; its {} are in no sample.",
                view.name(worst), relative(&worst), counted(slow.size(), "point"),
                counted(worst.transient.warmup.size(), "step") + " of warm-up");
  if (const auto& setup = worst.setup.total) {
    answers.add(
        fmt::format("Plan, kernel trials, memory and weights ({} for {}) come before the first step and are in "
                    "no sample.",
                    format_seconds(*setup), view.name(worst)));
  }
  return answers;
}

Answers gains(const PageView& view) {
  Answers answers;
  std::vector<std::string> conclusions;
  for (const OptionGains& option : option_gains(view)) {
    for (const Gain& gain : option.gains) {
      if (answers.is_full(4 * kMostAnswers)) break;
      answers.add(fmt::format("{}: {} against {}, times as fast: {}.",
                              gain.name.empty() ? gain.to->config.text("pass") : gain.name, option.to, option.from,
                              gain.text()));
    }
    conclusions.push_back(option.conclusion());
  }
  answers.conclusion = fmt::format("{}.", fmt::join(conclusions, ". "));
  return answers;
}

// The first rows of a view in words: "matmul:tiles_avx2 with 25.0 % of the step (calls: 18)".
std::string top_kernels(const StepTrace& trace, int64_t top, const LaunchTest& test) {
  const std::vector<Grid> grids = view_tables(trace, {.view = ProfileView::kKernels, .top = top, .test = test});
  const Grid& grid = grids.front();
  const auto column = [&](std::string_view key) {
    const auto found =
        std::find_if(grid.columns.begin(), grid.columns.end(), [&](const auto& one) { return one.key == key; });
    return static_cast<size_t>(found - grid.columns.begin());
  };
  std::vector<std::string> parts;
  for (const std::vector<Json>& row : grid.rows) {
    parts.push_back(fmt::format("{} with {} of the {} (calls: {})", row[column("kernel")].get<std::string>(),
                                page_percent(row[column("time_share")].get<double>()), pass_of(trace),
                                row[column("instances")].dump()));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

LaunchTest in_phase(std::string_view phase) {
  return [phase](const TraceLaunch& launch) { return launch.phase == phase; };
}

// The class of work of launches that takes most time, with its share of the step.
std::pair<std::string, double> top_class(const StepTrace& trace, const LaunchTest& test) {
  std::pair<std::string, double> top;
  const double step = totals_of(trace).step;
  for (const LaunchSum& sum : sum_launches(
           trace, [](const TraceLaunch& launch) { return std::string(launch.work_class); }, test)) {
    if (step > 0 && sum.total / step > top.second) top = {sum.key, sum.total / step};
  }
  return top;
}

std::string percent_text(double fraction) { return page_percent(fraction); }

// What most points spend their time in: "matmul takes most time at all 8 points, 41 % to 62 % of the step"; points with
// a disturbed trace are not counted.
std::string usual_class(const PageView& view, const LaunchTest& test, std::string_view where) {
  std::map<std::string, std::vector<double>> shares;
  size_t all = 0;
  for (const TracedPoint& point : view.profiled()) {
    if (!trace_doubt(point).empty()) continue;
    const auto [work_class, share] = top_class(*point.trace, test);
    if (work_class.empty()) continue;
    ++all;
    shares[work_class].push_back(share);
  }
  if (all == 0)
    return "none, because the traced steps of no point are to be relied on: run it again on a quieter machine.";
  const auto usual = std::max_element(shares.begin(), shares.end(),
                                      [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  return fmt::format("{} takes most time{} at {} points whose traced steps can be relied on, {} of the step.",
                     usual->first, where, how_many(usual->second.size(), all), range_of(usual->second, percent_text));
}

// Marks an answer from a disturbed trace.
std::string doubt_note(const TracedPoint& point) {
  const std::string doubt = trace_doubt(point);
  return doubt.empty() ? "" : fmt::format(" (rough: {})", doubt);
}

Answers top_kernel(const PageView& view) {
  Answers answers;
  const LaunchTest is_not_optimizer = [](const TraceLaunch& launch) { return launch.phase != "optimizer"; };
  for (const TracedPoint& point : view.profiled()) {
    if (answers.is_full()) break;
    const std::string forward = top_kernels(*point.trace, 1, in_phase("forward"));
    const std::string both = top_kernels(*point.trace, 1, is_not_optimizer);
    if (forward.empty()) continue;
    answers.add(
        fmt::format("{}: in forward {}; in forward and backward {}{}.", point.name, forward, both, doubt_note(point)));
    const PointReport report = profile_report(*point.record, *point.trace, {.view = ProfileView::kKernels, .top = 1});
    if (answers.lines.size() == 1 && report.lines.size() > 1)
      answers.add(fmt::format("What the mark after each launch (one run of a kernel) costs: {}.", report.lines[1]));
  }
  answers.conclusion = usual_class(view, is_not_optimizer, " in forward and backward");
  return answers;
}

Answers other_kernels(const PageView& view) {
  Answers answers;
  const LaunchTest is_other = [](const TraceLaunch& launch) {
    return launch.phase == "forward" && launch.work_class != kProductWork;
  };
  for (const TracedPoint& point : view.profiled()) {
    if (answers.is_full()) break;
    const std::string text = top_kernels(*point.trace, 3, is_other);
    if (!text.empty()) answers.add(fmt::format("{}: {}{}.", point.name, text, doubt_note(point)));
  }
  answers.conclusion = usual_class(view, is_other, " in forward beside matrix products");
  return answers;
}

double share_of_class(const StepTrace& trace, std::string_view work_class) {
  const double step = totals_of(trace).step;
  double seconds = 0;
  for (const LaunchSum& sum :
       sum_launches(trace, [](const TraceLaunch& launch) { return std::string(launch.work_class); })) {
    if (sum.key == work_class) seconds += sum.total;
  }
  return step > 0 ? seconds / step : 0;
}

Answers product_share(const PageView& view) {
  Answers answers;
  std::vector<TracedPoint> points = view.profiled();
  std::stable_sort(points.begin(), points.end(), [](const TracedPoint& a, const TracedPoint& b) {
    return rank_of_pass(*a.record) < rank_of_pass(*b.record);
  });
  std::vector<std::string> seen;
  std::vector<double> changes;  // of the share from the first pass to the last, where both traces can be relied on
  size_t doubtful = 0;
  for (const TracedPoint& first : points) {
    const std::string rest = rest_of_config(*first.record, "pass");
    if (std::find(seen.begin(), seen.end(), rest) != seen.end()) continue;
    seen.push_back(rest);
    std::vector<std::string> parts;
    std::vector<double> shares;
    bool is_doubtful = false;
    for (const TracedPoint& point : points) {
      if (rest_of_config(*point.record, "pass") != rest) continue;
      shares.push_back(share_of_class(*point.trace, kProductWork));
      parts.push_back(
          fmt::format("{} {}{}", point.record->config.text("pass"), page_percent(shares.back()), doubt_note(point)));
      is_doubtful = is_doubtful || !trace_doubt(point).empty();
    }
    if (parts.size() < 2) continue;
    is_doubtful ? void(++doubtful) : changes.push_back(shares.back() - shares.front());
    std::string name = first.name;
    if (const std::string pass = first.record->config.text("pass") + " "; name.starts_with(pass))
      name.erase(0, pass.size());
    if (!answers.is_full()) answers.add(fmt::format("{}: {}.", name, fmt::join(parts, ", ")));
  }
  if (changes.empty()) {
    answers.conclusion = "none, because in each line a pass was traced while the machine was disturbed.";
    return answers;
  }
  const auto falls =
      static_cast<size_t>(std::count_if(changes.begin(), changes.end(), [](double by) { return by < 0; }));
  const auto points_text = [](double by) { return fmt::format("{:+.0f}", 100 * by); };
  answers.conclusion = fmt::format("the share {} from the first pass to the last, by {} percentage points{}.",
                                   falls == changes.size() ? "falls"
                                   : falls == 0            ? "rises"
                                                           : "falls for some points and rises for others",
                                   range_of(changes, points_text),
                                   doubtful > 0 ? fmt::format("; {} with a disturbed trace {} not counted",
                                                              counted(doubtful, "line"), doubtful == 1 ? "is" : "are")
                                                : "");
  return answers;
}

Answers softmax(const PageView& view) {
  Answers answers;
  std::vector<double> ratios;
  for (const TracedPoint& point : view.profiled()) {
    const std::string text = softmax_against_products(*point.trace);
    if (text.empty()) continue;
    if (!answers.is_full()) answers.add(fmt::format("{}: {}{}.", point.name, text, doubt_note(point)));
    const std::optional<double> ratio = softmax_time_over_products(*point.trace);
    if (ratio && trace_doubt(point).empty()) ratios.push_back(*ratio);
  }
  answers.conclusion =
      ratios.empty()
          ? "none, because the traced steps of no such point are to be relied on."
          : fmt::format("softmax takes {} times as long as the two products, though it has few of their FLOPs.",
                        range_of(ratios, [](double ratio) { return fmt::format("{:.2g}", ratio); }));
  return answers;
}

Answers gain_of_compile(const PageView& view) {
  Answers answers;
  const std::vector<TracedPoint> points = view.profiled();
  std::map<std::string, size_t> most_saved;  // how often a part saves most
  size_t pairs = 0;
  size_t doubtful = 0;
  size_t saving = 0;
  for (const TracedPoint& eager : points) {
    if (eager.record->config.text("mode") != "eager") continue;
    for (const TracedPoint& compiled : points) {
      if (compiled.record->config.text("mode") != "compile") continue;
      if (rest_of_config(*eager.record, "mode") != rest_of_config(*compiled.record, "mode")) continue;
      const std::vector<Grid> grids = compare_profiles({"eager", eager.trace}, {"compile", compiled.trace});
      const auto& rows = grids.front().rows;
      const double saved = rows.back()[3].get<double>();
      const bool is_doubtful = !trace_doubt(eager).empty() || !trace_doubt(compiled).empty();
      std::vector<std::string> parts;
      for (size_t i = 0; i + 2 < rows.size() && i < 3 && rows[i][3].is_number(); ++i)
        parts.push_back(fmt::format("{} {}", rows[i][0].get<std::string>(), format_seconds(rows[i][3].get<double>())));
      ++pairs;
      doubtful += is_doubtful ? 1U : 0U;
      if (!is_doubtful && saved > 0) {
        ++saving;
        if (!rows.empty()) ++most_saved[rows[0][0].get<std::string>()];
      }
      if (answers.is_full()) continue;
      const std::string rough = is_doubtful ? " (rough: a trace is disturbed)" : "";
      answers.add(saved > 0 ? fmt::format("{}: {} less than eager; most in {}{}.", compiled.name, format_seconds(saved),
                                          fmt::join(parts, ", "), rough)
                            : fmt::format("{}: nothing; it takes {} more than eager{}.", compiled.name,
                                          format_seconds(-saved), rough));
    }
  }
  if (pairs == doubtful) {
    answers.conclusion = "none, because in each pair the traced steps of one side are not to be relied on.";
    return answers;
  }
  answers.conclusion = fmt::format("compile mode saves time in {} pairs", how_many(saving, pairs - doubtful));
  const auto most = std::max_element(most_saved.begin(), most_saved.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most != most_saved.end()) answers.conclusion += fmt::format(", most often the most in {}", most->first);
  answers.conclusion +=
      doubtful > 0 ? fmt::format("; {} rough.", counted(doubtful, "pair") + (doubtful == 1 ? " is" : " are")) : ".";
  return answers;
}

Answers casts(const PageView& view) {
  Answers answers;
  std::vector<double> shares;
  for (const TracedPoint& point : view.profiled()) {
    if (point.record->config.text(kNumberType) == "float32") continue;
    const double share = share_of_class(*point.trace, kCastWork);
    if (trace_doubt(point).empty()) shares.push_back(share);
    if (answers.is_full()) continue;
    answers.add(fmt::format("{}: casts take {} of the step, matrix products {}{}.", point.name, page_percent(share),
                            page_percent(share_of_class(*point.trace, kProductWork)), doubt_note(point)));
  }
  std::vector<std::string> conclusions;
  if (!shares.empty()) conclusions.push_back(fmt::format("casts take {} of a step", range_of(shares, percent_text)));
  for (const OptionGains& option : option_gains(view)) {
    if (option.option == kNumberType) conclusions.push_back(option.conclusion());
  }
  answers.conclusion =
      conclusions.empty()
          ? "none, because the page has no pair of float32 and another number type, and no undisturbed trace."
          : fmt::format("{}.", fmt::join(conclusions, "; "));
  return answers;
}

Answers peaks(const PageView& view) {
  Answers answers;
  const Record* largest = nullptr;
  size_t all = 0;
  size_t fitting = 0;
  for (const Record* const record : view.points()) {
    const std::optional<int64_t> bytes = record->memory.predicted_peak_bytes;
    if (!bytes) continue;
    const bool fits = record->status != Status::kOutOfMemory;
    ++all;
    fitting += fits ? 1U : 0U;
    if (largest == nullptr || *bytes > *largest->memory.predicted_peak_bytes) largest = record;
    if (answers.is_full(2 * kMostAnswers)) continue;
    answers.add(fmt::format("{}: {}{}.", view.name(*record), format_bytes(*bytes),
                            fits ? record->memory.peak_bytes ? "" : ", predicted" : ", which does not fit here"));
  }
  if (largest != nullptr) {
    answers.conclusion =
        fmt::format("the most is {}, for {}; {} points fit.", format_bytes(*largest->memory.predicted_peak_bytes),
                    view.name(*largest), how_many(fitting, all));
  }
  return answers;
}

Answers memory_held(const PageView& view) {
  Answers answers;
  if (view.traced().empty()) return answers;
  const Record* const headline = view.headline();
  const TracedPoint* chosen = &view.traced().back();
  for (const TracedPoint& point : view.traced()) {
    if (headline != nullptr && point.name == view.name(*headline)) chosen = &point;
  }
  for (const std::string& line : memory_report(*chosen->record, *chosen->trace, {MemoryView::kSummary, 0}).lines)
    answers.add(fmt::format("{}: {}", chosen->name, line));
  const MemoryLedger ledger(*chosen->trace);
  const MemoryCategory most = ledger.peak().largest();
  answers.conclusion = fmt::format("most of the peak is {}: {} of it.", title_of(most),
                                   page_percent(static_cast<double>(ledger.peak()[most]) /
                                                static_cast<double>(std::max<int64_t>(1, ledger.planned()))));
  return answers;
}

Answers attention_alone(const PageView& view) {
  Answers answers;
  size_t all = 0;
  size_t fitting = 0;
  for (const Record* const record : view.points()) {
    if (record->config.text("model") != "attention") continue;
    ++all;
    fitting += record->status != Status::kOutOfMemory ? 1U : 0U;
    if (answers.is_full(2 * kMostAnswers)) continue;
    const TimeStats* const time = record->main_time();
    answers.add(fmt::format(
        "{}: {}, {}.", view.name(*record),
        time != nullptr && time->count > 0 ? format_seconds(time->median) : std::string(name_of(record->status)),
        format_bytes(record->memory.predicted_peak_bytes.value_or(0))));
  }
  answers.conclusion = fmt::format("{} points fit.", how_many(fitting, all));
  return answers;
}

struct Question {
  std::string_view question;
  Answers (*answers)(const PageView& view);
};
constexpr std::array kQuestions{
    Question{"How long do forward, backward and both take, and how much do they vary?", times_and_spread},
    Question{"Why do the first steps take longer without warm-up?", first_steps},
    Question{"What do bfloat16 and compilation gain?", gains},
    Question{"Which kernel takes most of the time, and how often is it called?", top_kernel},
    Question{"Which kernels other than matrix products matter in forward?", other_kernels},
    Question{"How does the share of matrix products change from inference to a whole step?", product_share},
    Question{"Softmax against the two products around it: time and FLOPs?", softmax},
    Question{"Where does compile mode gain its time?", gain_of_compile},
    Question{"What is the share of casts: is bfloat16 worth it on a small model?", casts},
    Question{"What is the peak for inference, forward with backward, and a step?", peaks},
    Question{"What is the memory of a step held for, and what does a block save for backward?", memory_held},
    Question{"Attention alone: which widths and lengths fit, and what do they cost?", attention_alone}};

}  // namespace

PageSection questions_section(const PageView& view) {
  PageSection section{.id = "questions", .title = "Where time and memory go: questions and answers"};
  for (const Question& one : kQuestions) {
    Answers answers = one.answers(view);
    if (!answers.is_empty()) {
      section.questions.push_back({std::string(one.question), std::move(answers.lines), std::move(answers.conclusion)});
    }
  }
  return section;
}

}  // namespace laptime
