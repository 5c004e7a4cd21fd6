// Questions about the time and memory of a step, answered in sentences from the records. Their words are the headings
// of docs/walkthrough.md, which has a command for each; they come from the source documents.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/units.h"
#include "base/words.h"
#include "record/metrics.h"
#include "report/first_steps.h"
#include "report/memory/memory_report.h"
#include "report/page/page_sections.h"
#include "report/page/page_words.h"
#include "report/profile/profile_report.h"
#include "report/profile/views.h"

namespace laptime {
namespace {

constexpr size_t kMostAnswers = 6;

// Classes of work.
constexpr std::string_view kProductWork = "matmul";
constexpr std::string_view kCastWork = "cast";

using Answers = std::vector<std::string>;

const TimeStats* phase_time(const Record& record, const char* phase) {
  const auto found = record.time.find(phase);
  return found == record.time.end() || found->second.count == 0 ? nullptr : &found->second;
}

Answers times_and_spread(const PageView& view) {
  Answers answers;
  for (const Record* const record : view.timed()) {
    const TimeStats* const forward = phase_time(*record, "forward");
    const TimeStats* const backward = phase_time(*record, "backward");
    if (forward == nullptr || backward == nullptr || answers.size() == kMostAnswers) continue;
    std::string text = fmt::format("{}: forward {}, backward {}, {} {}", view.name(*record),
                                   format_seconds(forward->median), format_seconds(backward->median),
                                   record->config.text("pass"), format_seconds(record->main_time()->median));
    const TimeStats& whole = *record->main_time();
    if (!is_predicted(*record) && whole.std && whole.mean > 0) {
      text += fmt::format("; the standard deviation of {} samples is {} of the mean ({})", whole.count,
                          page_percent(*whole.std / whole.mean), verdict_and_drift(*record));
    }
    answers.push_back(text + ".");
  }
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
  for (size_t i = 0; i < std::min<size_t>(slow.size(), 3); ++i) {
    const Transient& first = slow[i]->transient;
    if (*first.excess <= 0) {
      if (i == 0) answers.emplace_back("Here they do not: no first step was longer than the steady ones.");
      break;
    }
    answers.push_back(fmt::format("{}: {}.", view.name(*slow[i]), first_steps_text(*slow[i])));
  }
  if (const auto& setup = slow.front()->setup.total) {
    answers.push_back(
        fmt::format("Plan, kernel trials, memory and weights ({} for {}) come before the first step and are in no "
                    "sample.",
                    format_seconds(*setup), view.name(*slow.front())));
  }
  return answers;
}

Answers gains(const PageView& view) {
  Answers answers;
  const Baselines& baselines = view.baselines();
  for (const Record* const record : view.timed()) {
    const std::optional<TimeRatio> speedup = baselines.speedup(*record, "");
    if (!speedup || baselines.is_baseline(*record) || answers.size() == 2 * kMostAnswers) continue;
    std::string text = fmt::format("{}: {:.2f} times as fast as {}", view.name(*record), speedup->value,
                                   fmt::join(baselines.descriptions(), " or "));
    if (const auto& interval = speedup->interval) {
      text += fmt::format(" (95 %: {:.2f} to {:.2f}{})", interval->low, interval->high,
                          interval->low <= 1 && interval->high >= 1 ? "; no difference seen" : "");
    }
    answers.push_back(text + ".");
  }
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
    parts.push_back(fmt::format("{} with {} of the step (calls: {})", row[column("kernel")].get<std::string>(),
                                page_percent(row[column("time_share")].get<double>()),
                                row[column("instances")].dump()));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

LaunchTest in_phase(std::string_view phase) {
  return [phase](const TraceLaunch& launch) { return launch.phase == phase; };
}

Answers top_kernel(const PageView& view) {
  Answers answers;
  for (const TracedPoint& point : view.profiled()) {
    if (answers.size() >= kMostAnswers) break;
    const std::string forward = top_kernels(*point.trace, 1, in_phase("forward"));
    const std::string both =
        top_kernels(*point.trace, 1, [](const TraceLaunch& launch) { return launch.phase != "optimizer"; });
    if (forward.empty()) continue;
    answers.push_back(fmt::format("{}: in forward {}; in forward and backward {}.", point.name, forward, both));
    const PointReport report = profile_report(*point.record, *point.trace, {.view = ProfileView::kKernels, .top = 1});
    if (answers.size() == 1 && report.lines.size() > 1)
      answers.push_back(
          fmt::format("What the mark after each launch (one run of a kernel) costs: {}.", report.lines[1]));
  }
  return answers;
}

Answers other_kernels(const PageView& view) {
  Answers answers;
  for (const TracedPoint& point : view.profiled()) {
    if (answers.size() >= kMostAnswers) break;
    const std::string text = top_kernels(*point.trace, 3, [](const TraceLaunch& launch) {
      return launch.phase == "forward" && launch.work_class != kProductWork;
    });
    if (!text.empty()) answers.push_back(fmt::format("{}: {}.", point.name, text));
  }
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

// A record's configuration without these keys and those that say how much was measured.
std::string rest_of_config(const Record& record, const char* key) {
  Json config = record.config.json();
  for (const char* other : {key, "warmup", "steps"}) config.erase(other);
  return config.dump(-1, ' ', true, Json::error_handler_t::replace);
}

Answers product_share(const PageView& view) {
  Answers answers;
  std::vector<TracedPoint> points = view.profiled();
  std::stable_sort(points.begin(), points.end(), [](const TracedPoint& a, const TracedPoint& b) {
    return rank_of_pass(*a.record) < rank_of_pass(*b.record);
  });
  std::vector<std::string> seen;
  for (const TracedPoint& first : points) {
    const std::string rest = rest_of_config(*first.record, "pass");
    if (std::find(seen.begin(), seen.end(), rest) != seen.end() || answers.size() == kMostAnswers) continue;
    seen.push_back(rest);
    std::vector<std::string> parts;
    for (const TracedPoint& point : points) {
      if (rest_of_config(*point.record, "pass") != rest) continue;
      parts.push_back(fmt::format("{} {}", point.record->config.text("pass"),
                                  page_percent(share_of_class(*point.trace, kProductWork))));
    }
    if (parts.size() < 2) continue;
    std::string name = first.name;
    if (const std::string pass = first.record->config.text("pass") + " "; name.starts_with(pass))
      name.erase(0, pass.size());
    answers.push_back(fmt::format("{}: {}.", name, fmt::join(parts, ", ")));
  }
  return answers;
}

Answers softmax(const PageView& view) {
  Answers answers;
  for (const TracedPoint& point : view.profiled()) {
    const std::string text = softmax_against_products(*point.trace);
    if (!text.empty() && answers.size() < kMostAnswers) answers.push_back(fmt::format("{}: {}.", point.name, text));
  }
  return answers;
}

Answers gain_of_compile(const PageView& view) {
  Answers answers;
  const std::vector<TracedPoint> points = view.profiled();
  for (const TracedPoint& eager : points) {
    if (eager.record->config.text("mode") != "eager") continue;
    for (const TracedPoint& compiled : points) {
      if (compiled.record->config.text("mode") != "compile" || answers.size() == kMostAnswers) continue;
      if (rest_of_config(*eager.record, "mode") != rest_of_config(*compiled.record, "mode")) continue;
      const std::vector<Grid> grids = compare_profiles({"eager", eager.trace}, {"compile", compiled.trace});
      const auto& rows = grids.front().rows;
      const double saved = rows.back()[3].get<double>();
      std::vector<std::string> parts;
      for (size_t i = 0; i + 2 < rows.size() && i < 3 && rows[i][3].is_number(); ++i)
        parts.push_back(fmt::format("{} {}", rows[i][0].get<std::string>(), format_seconds(rows[i][3].get<double>())));
      answers.push_back(
          saved > 0 ? fmt::format("{}: {} less than eager; most in {}.", compiled.name, format_seconds(saved),
                                  fmt::join(parts, ", "))
                    : fmt::format("{}: nothing; it takes {} more than eager.", compiled.name, format_seconds(-saved)));
    }
  }
  return answers;
}

Answers casts(const PageView& view) {
  Answers answers;
  for (const TracedPoint& point : view.profiled()) {
    if (point.record->config.text("dtype") == "float32" || answers.size() == kMostAnswers) continue;
    answers.push_back(fmt::format("{}: casts take {} of the step, matrix products {}.", point.name,
                                  page_percent(share_of_class(*point.trace, kCastWork)),
                                  page_percent(share_of_class(*point.trace, kProductWork))));
  }
  return answers;
}

Answers peaks(const PageView& view) {
  Answers answers;
  for (const Record* const record : view.points()) {
    const std::optional<int64_t> bytes = record->memory.predicted_peak_bytes;
    if (!bytes || answers.size() == 2 * kMostAnswers) continue;
    const bool fits = record->status != Status::kOutOfMemory;
    answers.push_back(fmt::format("{}: {}{}.", view.name(*record), format_bytes(*bytes),
                                  fits ? record->memory.peak_bytes ? "" : ", predicted" : ", which does not fit here"));
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
    answers.push_back(fmt::format("{}: {}", chosen->name, line));
  return answers;
}

Answers attention_alone(const PageView& view) {
  Answers answers;
  for (const Record* const record : view.points()) {
    if (record->config.text("model") != "attention" || answers.size() == 2 * kMostAnswers) continue;
    const TimeStats* const time = record->main_time();
    answers.push_back(fmt::format(
        "{}: {}, {}.", view.name(*record),
        time != nullptr && time->count > 0 ? format_seconds(time->median) : std::string(name_of(record->status)),
        format_bytes(record->memory.predicted_peak_bytes.value_or(0))));
  }
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
    if (!answers.empty()) section.questions.push_back({std::string(one.question), std::move(answers)});
  }
  return section;
}

}  // namespace laptime
