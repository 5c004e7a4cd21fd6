// Questions about the time and memory of a step, answered in sentences from the records. Their words are the headings
// of docs/walkthrough.md, which has a command for each; they come from the source documents.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/memory_ledger.h"
#include "base/units.h"
#include "base/words.h"
#include "record/metrics.h"
#include "report/first_steps.h"
#include "report/memory/memory_report.h"
#include "report/page/gains.h"
#include "report/page/page_sections.h"
#include "report/page/page_words.h"
#include "report/page/questions.h"
#include "report/speedup.h"
#include "table/value_text.h"

namespace laptime {
namespace {

Answers times_and_spread(const PageView& view) {
  Answers answers;
  std::vector<double> ratios;  // backward over forward, of measured times that can be relied on
  std::vector<double> predicted;
  size_t measured = 0;
  for (const Record* const record : view.timed()) {
    const TimeStats* const forward = time_of_part(*record, "forward");
    const TimeStats* const backward = time_of_part(*record, "backward");
    if (forward == nullptr || backward == nullptr || forward->median <= 0) continue;
    const double ratio = backward->median / forward->median;
    if (is_predicted(*record)) {
      predicted.push_back(ratio);
    } else {
      ++measured;
      if (verdict_against_comparing(*record).empty()) ratios.push_back(ratio);
    }
    if (answers.is_full()) continue;
    const TimeStats& whole = *record->main_time();
    std::string text = fmt::format("{}: forward {}, backward {}", view.name(*record), format_seconds(forward->median),
                                   format_seconds(backward->median));
    if (&whole != forward && &whole != backward)
      text += fmt::format(", {} {}", record->config.text("pass"), format_seconds(whole.median));
    if (!is_predicted(*record) && whole.std && whole.mean > 0) {
      text += fmt::format("; the standard deviation of {} samples is {} of the mean ({})", whole.count,
                          percent_text(*whole.std / whole.mean), verdict_and_reason(*record));
    }
    answers.add(text + ".");
  }
  const auto times_text = [](double ratio) { return fmt::format("{:.2f}", ratio); };
  if (!ratios.empty()) {
    answers.conclusion = fmt::format("backward takes {} times as long as forward at {} points{}.",
                                     range_text(ratios, times_text), how_many(ratios.size(), measured),
                                     ratios.size() < measured ? "; the times of the others cannot be relied on" : "");
  } else if (!predicted.empty()) {
    answers.conclusion =
        fmt::format("by prediction backward takes {} times as long as forward.", range_text(predicted, times_text));
  } else {
    answers.conclusion = "none, because no point with both phases has a time that can be relied on.";
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
                "without warm-up the first steps of {} would add the time of {:.2g} steady steps, the most of {}; {} "
                "of warm-up keep that out of its samples.",
                view.name(worst), relative(&worst), counted(slow.size(), "point"),
                counted(worst.transient.warmup.size(), "step"));
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
  for (const OptionGains& option : view.gains()) {
    for (const Gain& gain : option.gains) {
      if (answers.is_full(4 * kMostAnswers)) break;
      answers.add(fmt::format("{}: {} against {}, times as fast: {}.",
                              gain.name.empty() ? gain.to->config.text("pass") : gain.name, option.to, option.from,
                              gain.text()));
    }
    conclusions.push_back(option.conclusion());
  }
  answers.conclusion = fmt::format("{}.", fmt::join(conclusions, "; "));
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
        fmt::format("the most is {}{}, for {}; {} points fit.", format_bytes(*largest->memory.predicted_peak_bytes),
                    largest->memory.peak_bytes ? "" : " (predicted)", view.name(*largest), how_many(fitting, all));
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
                                   percent_text(static_cast<double>(ledger.peak()[most]) /
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

std::string how_many(size_t some, size_t all) {
  return some == all ? fmt::format("all {}", all) : fmt::format("{} of {}", some, all);
}

PageSection questions_section(const PageView& view) {
  PageSection section{.id = "questions", .title = "Where time and memory go: questions and answers"};
  for (const Question& one : kQuestions) {
    Answers answers = one.answers(view);
    if (!answers.lines.empty()) {
      section.questions.push_back({std::string(one.question), std::move(answers.lines), std::move(answers.conclusion)});
    }
  }
  return section;
}

}  // namespace laptime
