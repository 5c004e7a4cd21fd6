// How points compare: with others that do the same work, with times that other people published, with predictions.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/units.h"
#include "base/words.h"
#include "distribution/median.h"
#include "record/metrics.h"
#include "record/time_stats.h"
#include "report/page/page_sections.h"
#include "report/page/page_words.h"
#include "report/published/published.h"
#include "report/speedup.h"

namespace laptime {
namespace {

constexpr size_t kMostComparisons = 6;

// Points that do the same work on one machine and differ in how: number type, mode, threads, program. The fastest
// first.
using Rivals = std::vector<const Record*>;

double median_seconds(const Record& record) { return record.main_time()->median; }

std::string work_key(const Record& record) {
  constexpr std::array kWork{"model",     "edition",    "d_model",        "d_ff",       "num_layers",
                             "num_heads", "vocab_size", "context_length", "batch_size", "pass"};
  std::string work =
      fmt::format("{}\n{}", record.fingerprint, is_predicted(record) ? record.config.text("device") : "");
  for (const char* const key : kWork) work += "\n" + record.config.text(key);
  return work;
}

// The work of the headline first, then the more complete passes, and of equal passes the longer contexts; works that
// only one point does are left out.
std::vector<Rivals> rivals_of(const PageView& view) {
  std::vector<Rivals> all;
  for (const Record* const record : view.timed()) {
    auto found = std::find_if(all.begin(), all.end(),
                              [&](const Rivals& rivals) { return work_key(*rivals.front()) == work_key(*record); });
    if (found == all.end()) found = all.insert(all.end(), Rivals{});
    found->push_back(record);
  }
  std::erase_if(all, [](const Rivals& rivals) { return rivals.size() < 2; });
  for (Rivals& rivals : all) {
    std::stable_sort(rivals.begin(), rivals.end(),
                     [](const Record* a, const Record* b) { return median_seconds(*a) < median_seconds(*b); });
  }
  const Record* const headline = view.headline();
  const auto order = [&](const Rivals& rivals) {
    const Record& first = *rivals.front();
    const bool is_headline = headline != nullptr && work_key(first) == work_key(*headline);
    return std::tuple(is_headline, rank_of_pass(first), config_number(first, "context_length").value_or(0));
  };
  std::stable_sort(all.begin(), all.end(), [&](const Rivals& a, const Rivals& b) { return order(a) > order(b); });
  return all;
}

// "4.64 times as long (95 %: 4.31 to 4.92)"; without an interval where a verdict speaks against one.
std::string times_as_long(const Record& slow, const Record& fast) {
  const std::optional<TimeRatio> ratio = ratio_of_medians(*slow.main_time(), *fast.main_time());
  if (!ratio) return "";
  std::string text = fmt::format("{:.2f} times as long", ratio->value);
  if (is_predicted(slow)) return text + " (both predicted)";
  const std::string of_slow = verdict_against_comparing(slow);
  const std::string of_fast = verdict_against_comparing(fast);
  if (!of_slow.empty() && !of_fast.empty()) {
    return of_slow == of_fast ? fmt::format("{} (roughly: the verdict on both is {})", text, of_slow)
                              : fmt::format("{} (roughly: the verdicts are {} and {})", text, of_slow, of_fast);
  }
  if (!of_slow.empty() || !of_fast.empty())
    return fmt::format("{} (roughly: the verdict on one of them is {})", text, of_slow.empty() ? of_fast : of_slow);
  if (!ratio->interval) return text;
  return fmt::format("{} (95 %: {:.2f} to {:.2f}{})", text, ratio->interval->low, ratio->interval->high,
                     ratio->interval->low <= 1 ? "; no difference seen" : "");
}

std::string rivals_sentence(const PageView& view, const Rivals& rivals) {
  const Record& fast = *rivals.front();
  const Record& slow = *rivals.back();
  return fmt::format("Of {} ways to do the same work, {} is the fastest with {}; the slowest, {}, takes {}, {}.",
                     rivals.size(), view.name(fast), format_seconds(median_seconds(fast)), view.name(slow),
                     format_seconds(median_seconds(slow)), times_as_long(slow, fast));
}

std::string figure_text(const PublishedFigure& figure) {
  return fmt::format("{} ({}, {} {})", format_seconds(*figure.seconds), figure.hardware, figure.arithmetic,
                     figure.mode);
}

// "20 times as fast as here (19.8 .. 20.3)": of a published time against that of a record.
std::string against_here(const PublishedFigure& figure, const Record& record) {
  return published_against(*figure.seconds, record, *record.main_time(),
                           is_predicted(record) ? " as predicted" : " as here");
}

// Empty where nobody published a time of the same work.
std::string published_sentence(const PageView& view, const Record& record) {
  const std::vector<const PublishedFigure*> figures = published_times_of(record);
  if (figures.empty()) return "";
  const double here = median_seconds(record);
  const PublishedFigure& first = *figures.front();
  std::string text =
      fmt::format("{} took {} {}; published for the same model, context, batch and pass: {}, {}", view.name(record),
                  format_seconds(here), is_predicted(record) ? "by prediction" : "here", figure_text(first),
                  against_here(first, record));
  if (figures.size() > 1) {
    text += fmt::format(", to {}, {}; {} in all", figure_text(*figures.back()), against_here(*figures.back(), record),
                        counted(figures.size(), "time"));
  }
  return text + ".";
}

std::optional<double> predicted_seconds(const Record& record) {
  const auto predicted = record.prediction.time.find(record.config.text("pass"));
  if (is_predicted(record) || predicted == record.prediction.time.end() || predicted->second <= 0) return std::nullopt;
  return predicted->second;
}

// "predicted 30.1 ms, measured 32.8 ms: -8.1 %"; empty without a prediction.
std::string prediction_text(const Record& record) {
  const std::optional<double> predicted = predicted_seconds(record);
  if (!predicted) return "";
  return fmt::format("predicted {}, measured {}: {:+.1f} %", format_seconds(*predicted),
                     format_seconds(median_seconds(record)), 100 * (*predicted / median_seconds(record) - 1));
}

std::vector<std::string> against_rivals(const PageView& view) {
  std::vector<std::string> answers;
  for (const Rivals& rivals : rivals_of(view)) {
    if (answers.size() < kMostComparisons) answers.push_back(rivals_sentence(view, rivals));
  }
  return answers;
}

std::vector<std::string> against_published(const PageView& view) {
  std::vector<std::string> answers;
  std::vector<std::string> seen;  // one answer for each work, that of its fastest point
  std::vector<const Record*> records = view.timed();
  // Measured ones first, and among them the work of the headline.
  const auto order = [&](const Record& record) {
    const bool is_headline = view.headline() != nullptr && work_key(record) == work_key(*view.headline());
    return std::tuple(is_predicted(record), !is_headline, median_seconds(record));
  };
  std::stable_sort(records.begin(), records.end(),
                   [&](const Record* a, const Record* b) { return order(*a) < order(*b); });
  for (const Record* const record : records) {
    if (answers.size() == kMostComparisons || std::find(seen.begin(), seen.end(), work_key(*record)) != seen.end())
      continue;
    std::string sentence = published_sentence(view, *record);
    if (sentence.empty()) continue;
    seen.push_back(work_key(*record));
    answers.push_back(std::move(sentence));
  }
  if (answers.empty() && !records.empty()) {
    answers.emplace_back(
        "No published time is of a model, context, batch and pass of this page. The last section shows published times "
        "of whole steps of other models, and says what to measure for a comparison.");
  }
  return answers;
}

// How far each prediction is from the measured median, as a fraction of it.
struct PredictionErrors {
  std::vector<double> all;
  const Record* farthest = nullptr;  // null where nothing was predicted
};
PredictionErrors prediction_errors(const PageView& view) {
  PredictionErrors errors;
  double most = -1;
  for (const Record* const record : view.timed()) {
    const std::optional<double> predicted = predicted_seconds(*record);
    if (!predicted) continue;
    errors.all.push_back(std::abs(*predicted / median_seconds(*record) - 1));
    if (errors.all.back() > most) {
      most = errors.all.back();
      errors.farthest = record;
    }
  }
  return errors;
}

std::vector<std::string> against_predictions(const PageView& view) {
  const PredictionErrors errors = prediction_errors(view);
  if (errors.farthest == nullptr) return {};
  const std::string farthest = view.name(*errors.farthest);
  if (errors.all.size() == 1) return {fmt::format("{}: {}.", farthest, prediction_text(*errors.farthest))};
  return {fmt::format(
      "{} had their time predicted before they ran: half of the predictions are within {:.1f} % of the "
      "measured median; the farthest is that of {}: {}.",
      counted(errors.all.size(), "point"), 100 * median(errors.all), farthest, prediction_text(*errors.farthest))};
}

}  // namespace

std::string comparison_sentence(const PageView& view, const Record& record) {
  std::vector<std::string> sentences;
  const std::vector<Rivals> works = rivals_of(view);
  // The record is the headline, which is of the largest work.
  const std::string_view work = works.size() > 1 ? "the largest work of this page" : "this work";
  for (const Rivals& rivals : works) {
    if (std::find(rivals.begin(), rivals.end(), &record) == rivals.end()) continue;
    const Record& other = rivals.front() == &record ? *rivals.back() : *rivals.front();
    const bool is_fastest = rivals.front() == &record;
    sentences.push_back(is_fastest ? fmt::format("The fastest of {} ways to do {}; the slowest, {}, takes {}.",
                                                 rivals.size(), work, view.name(other), times_as_long(other, record))
                                   : fmt::format("The fastest of {} ways to do {} is {}; this one takes {}.",
                                                 rivals.size(), work, view.name(other), times_as_long(record, other)));
  }
  if (const std::string text = prediction_text(record); !text.empty()) {
    const std::vector<double> errors = prediction_errors(view).all;
    const std::string typical = errors.size() < 2 ? ""
                                                  : fmt::format("; half of the {} predictions here are within {:.1f} %",
                                                                errors.size(), 100 * median(errors));
    sentences.push_back(fmt::format("The prediction before the run: {}{}.", text, typical));
  }
  if (const std::vector<const PublishedFigure*> figures = published_times_of(record); !figures.empty()) {
    sentences.push_back(fmt::format("The shortest published time for the same work is {}, {}.",
                                    figure_text(*figures.front()), against_here(*figures.front(), record)));
  }
  return fmt::format("{}", fmt::join(sentences, " "));
}

PageSection summary_of_comparisons(const PageView& view) {
  PageSection section{.id = "comparisons", .title = "How it compares"};
  const auto add = [&](const char* question, std::vector<std::string> answers) {
    if (!answers.empty()) section.questions.push_back({question, std::move(answers)});
  };
  add("Which number type and mode is fastest, and by how much?", against_rivals(view));
  add("Against times that other people published, on other machines?", against_published(view));
  add("Against the prediction that was made before the run?", against_predictions(view));
  return section;
}

}  // namespace laptime
