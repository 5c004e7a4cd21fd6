// How points compare: with others that do the same work, with times that other people published, with predictions.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/units.h"
#include "base/words.h"
#include "distribution/median.h"
#include "record/metrics.h"
#include "record/time_stats.h"
#include "report/page/gains.h"
#include "report/page/page_sections.h"
#include "report/page/page_words.h"
#include "report/plan_table.h"
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

struct RecordOfWork {
  const Record* record = nullptr;
  std::string work;          // its work_key
  bool is_headline = false;  // the work is that of the headline
};
// The records of the page that have a time, in their order.
std::vector<RecordOfWork> records_with_work(const PageView& view) {
  const Record* const headline = view.headline();
  const std::string headline_work = headline == nullptr ? "" : work_key(*headline);
  std::vector<RecordOfWork> records;
  for (const Record* const record : view.timed()) {
    std::string work = work_key(*record);
    const bool is_headline = headline != nullptr && work == headline_work;
    records.push_back({record, std::move(work), is_headline});
  }
  return records;
}

// The work of the headline first, then the more complete passes, and of equal passes the longer contexts; works that
// only one point does are left out.
std::vector<Rivals> rivals_of(const PageView& view) {
  struct RivalsAtWork {
    std::string work;
    bool is_headline = false;
    Rivals rivals;
  };
  std::vector<RivalsAtWork> works;
  for (const RecordOfWork& one : records_with_work(view)) {
    auto found = std::find_if(works.begin(), works.end(), [&](const auto& known) { return known.work == one.work; });
    if (found == works.end()) found = works.insert(works.end(), {one.work, one.is_headline, {}});
    found->rivals.push_back(one.record);
  }
  std::erase_if(works, [](const RivalsAtWork& one) { return one.rivals.size() < 2; });
  for (RivalsAtWork& one : works) {
    std::stable_sort(one.rivals.begin(), one.rivals.end(),
                     [](const Record* a, const Record* b) { return median_seconds(*a) < median_seconds(*b); });
  }
  const auto order = [](const RivalsAtWork& one) {
    const Record& first = *one.rivals.front();
    return std::tuple(one.is_headline, rank_of_pass(first), config_number(first, "context_length").value_or(0));
  };
  std::stable_sort(works.begin(), works.end(),
                   [&](const RivalsAtWork& a, const RivalsAtWork& b) { return order(a) > order(b); });
  std::vector<Rivals> all;
  all.reserve(works.size());
  for (RivalsAtWork& one : works) all.push_back(std::move(one.rivals));
  return all;
}

// "4.64 times as long (95 %: 4.31 to 4.92)"; without an interval where something speaks against one.
std::string times_as_long(const PageView& view, const Record& slow, const Record& fast) {
  const std::optional<TimeRatio> ratio = ratio_of_medians(*slow.main_time(), *fast.main_time());
  if (!ratio) return "";
  std::string text = fmt::format("{:.2f} times as long", ratio->value);
  if (is_predicted(slow)) return text + " (both predicted)";
  const std::string doubt = ratio_doubt(view, {slow, view.name(slow)}, {fast, view.name(fast)});
  if (!doubt.empty()) return fmt::format("{} (roughly: {})", text, doubt);
  if (!ratio->interval) return text;
  return fmt::format("{} (95 %: {:.2f} to {:.2f}{})", text, ratio->interval->low, ratio->interval->high,
                     ratio->interval->low <= 1 ? "; no difference seen" : "");
}

// Whether the fastest of a work is faster than the next beyond what the times of both vary by. Predictions vary by
// nothing.
bool has_clear_winner(const Rivals& rivals) {
  const Record& fast = *rivals[0];
  const Record& next = *rivals[1];
  const std::optional<TimeRatio> ratio = ratio_of_medians(*next.main_time(), *fast.main_time());
  if (!ratio) return false;
  if (is_predicted(fast)) return ratio->value > 1;
  if (verdict_against_comparing(fast).empty() && verdict_against_comparing(next).empty())
    return ratio->interval && ratio->interval->low > 1;
  return is_beyond_doubt(ratio->value, *next.main_time(), *fast.main_time());
}

std::string rivals_sentence(const PageView& view, const Rivals& rivals) {
  const Record& fast = *rivals.front();
  const Record& slow = *rivals.back();
  return fmt::format("Of {} ways to do the same work, {} {} with {}; the slowest, {}, takes {}, {}.", rivals.size(),
                     view.name(fast), has_clear_winner(rivals) ? "is the fastest" : "took the least time",
                     format_seconds(median_seconds(fast)), view.name(slow), format_seconds(median_seconds(slow)),
                     times_as_long(view, slow, fast));
}

std::string figure_text(const PublishedFigure& figure) {
  return fmt::format("{} ({}, {} {}; source: {})", format_seconds(*figure.seconds), figure.hardware, figure.arithmetic,
                     figure.mode, figure.source);
}

// "20 times as fast as here (19.8 .. 20.3)": of a published time against that of a record.
std::string against_here(const PublishedFigure& figure, const Record& record) {
  return published_against(*figure.seconds, record, *record.main_time(),
                           is_predicted(record) ? " as predicted" : " as here");
}

// Published times of the same work: those of the same arithmetic and mode where there are some, else those of the same
// arithmetic, else all.
struct PublishedTimes {
  std::vector<const PublishedFigure*> figures;  // the shortest first
  bool are_alike = false;                       // of the same arithmetic, which nothing speaks against
  bool have_mode = false;                       // of the same mode, too

  explicit PublishedTimes(const Record& record) : figures(published_times_of(record)) {
    are_alike = keep([&](const PublishedFigure& figure) {
      return figure.certainty != kDoubtful && is_same_arithmetic(figure.arithmetic, record);
    });
    have_mode =
        are_alike && keep([&](const PublishedFigure& figure) { return figure.mode == record.config.text(kMode); });
  }
  std::string_view what() const {
    if (!are_alike) return "same work, but only in another arithmetic";
    return have_mode ? "same work, arithmetic and mode" : "same work and arithmetic";
  }

 private:
  // Leaves only figures that the test accepts, where there are some.
  template <class Test>
  bool keep(const Test& test) {
    std::vector<const PublishedFigure*> kept;
    for (const PublishedFigure* const figure : figures) {
      if (test(*figure)) kept.push_back(figure);
    }
    if (kept.empty()) return false;
    figures = std::move(kept);
    return true;
  }
};

struct HeldPoint {
  RecordOfWork of;
  PublishedTimes times;  // not empty
};
// The point of each work that is held against published times, one with such times in its arithmetic where there is
// one: measured ones first, then those of the headline's work, then the fastest.
std::vector<HeldPoint> held_against_published(const PageView& view) {
  std::vector<HeldPoint> points;
  for (RecordOfWork& one : records_with_work(view)) {
    if (PublishedTimes times(*one.record); !times.figures.empty()) points.push_back({std::move(one), std::move(times)});
  }
  const auto order = [](const HeldPoint& point) {
    const Record& record = *point.of.record;
    return std::tuple(is_predicted(record), !point.of.is_headline, !point.times.are_alike, median_seconds(record));
  };
  std::stable_sort(points.begin(), points.end(),
                   [&](const HeldPoint& a, const HeldPoint& b) { return order(a) < order(b); });
  std::set<std::string> works;
  std::erase_if(points, [&](const HeldPoint& point) { return !works.insert(point.of.work).second; });
  return points;
}

std::string published_sentence(const PageView& view, const HeldPoint& point) {
  const Record& record = *point.of.record;
  const PublishedTimes& times = point.times;
  const double here = median_seconds(record);
  const PublishedFigure& first = *times.figures.front();
  std::string text = fmt::format("{} took {} {}; published for the {}: {}, {}", view.name(record), format_seconds(here),
                                 is_predicted(record) ? "by prediction" : "here", times.what(), figure_text(first),
                                 against_here(first, record));
  if (times.figures.size() > 1) {
    text += fmt::format(", to {}, {}; {} in all", figure_text(*times.figures.back()),
                        against_here(*times.figures.back(), record), counted(times.figures.size(), "time"));
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
  return predicted_against_measured(*predicted, median_seconds(record));
}

std::vector<std::string> against_rivals(const PageView& view) {
  std::vector<std::string> answers;
  for (const Rivals& rivals : rivals_of(view)) {
    if (answers.size() < kMostComparisons) answers.push_back(rivals_sentence(view, rivals));
  }
  return answers;
}

// How much faster others were like for like, or why that cannot be said.
std::string published_conclusion(const std::vector<HeldPoint>& points) {
  struct Ratios {
    std::vector<double> all{};  // of the page's time over the shortest published one of the same arithmetic
    bool some_rough = false;
  };
  Ratios measured;
  Ratios predicted;
  for (const HeldPoint& point : points) {
    if (!point.times.are_alike) continue;
    const Record& record = *point.of.record;
    Ratios& ratios = is_predicted(record) ? predicted : measured;
    ratios.all.push_back(median_seconds(record) / *point.times.figures.front()->seconds);
    ratios.some_rough = ratios.some_rough || !verdict_against_comparing(record).empty();
  }
  const bool counts_predicted = measured.all.empty();
  const Ratios& ratios = counts_predicted ? predicted : measured;
  if (ratios.all.empty()) return "none: laptime knows of no published time of the same work and arithmetic.";
  const auto text = [](double ratio) {
    return fmt::format("{:.3g} times as {}", ratio >= 1 ? ratio : 1 / ratio, ratio >= 1 ? "fast" : "slow");
  };
  return fmt::format("like for like, the shortest published times are {}{} as those {}, on other machines.",
                     ratios.some_rough ? "roughly " : "", range_text(ratios.all, text),
                     counts_predicted ? "predicted here" : "of this page");
}

// Which ways were the fastest, the most frequent first.
std::string fastest_way(const PageView& view) {
  const std::vector<Rivals> works = rivals_of(view);
  if (works.empty()) return "";
  std::map<std::string, size_t> wins;
  std::vector<std::string> undecided;
  for (const Rivals& rivals : works) {
    const Record& first = *rivals.front();
    if (!has_clear_winner(rivals)) {
      undecided.push_back(fmt::format("{} or {}", view.name(first), view.name(*rivals[1])));
      continue;
    }
    ++wins[fmt::format("{} {}{}", first.config.text(kNumberType), first.config.text(kMode),
                       is_predicted(first) ? " (predicted)" : "")];
  }
  const std::string comparisons = counted(works.size(), "comparison");
  if (wins.empty()) return fmt::format("none, because in {} the two fastest cannot be told apart.", comparisons);
  constexpr size_t kMostUndecided = 2;
  const std::string which = undecided.size() > kMostUndecided ? "" : fmt::format(" ({})", fmt::join(undecided, "; "));
  std::vector<std::pair<std::string, size_t>> ways(wins.begin(), wins.end());
  std::stable_sort(ways.begin(), ways.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::string> parts;
  parts.reserve(ways.size() + 1);
  for (const auto& [way, count] : ways) parts.push_back(fmt::format("{} is the fastest in {}", way, count));
  if (!undecided.empty())
    parts.push_back(fmt::format("in {} the two fastest are too close or too rough to tell{}", undecided.size(), which));
  return fmt::format("of {}, {}.", comparisons, fmt::join(parts, ", "));
}

std::vector<std::string> against_published(const PageView& view, const std::vector<HeldPoint>& points) {
  std::vector<std::string> answers;
  for (size_t i = 0; i < std::min(kMostComparisons, points.size()); ++i)
    answers.push_back(published_sentence(view, points[i]));
  if (answers.empty() && !view.timed().empty()) {
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

std::string prediction_conclusion(const PageView& view) {
  const PredictionErrors errors = prediction_errors(view);
  if (errors.all.empty()) return "";
  const auto reliable = std::count_if(view.timed().begin(), view.timed().end(), [](const Record* record) {
    return predicted_seconds(*record) && verdict_against_comparing(*record).empty();
  });
  std::string text = fmt::format(
      "half of the predictions here are within {:.1f} % of the measured time, and the worst is off by {:.1f} %",
      100 * median(errors.all), 100 * *std::max_element(errors.all.begin(), errors.all.end()));
  if (reliable < static_cast<std::ptrdiff_t>(errors.all.size())) {
    text += fmt::format("; {} of the {} measured times can be relied on, and part of the error is that of the others",
                        reliable == 0 ? "none" : std::to_string(reliable), errors.all.size());
  }
  return text + ".";
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
    sentences.push_back(is_fastest
                            ? fmt::format("The fastest of {} ways to do {}; the slowest, {}, takes {}.", rivals.size(),
                                          work, view.name(other), times_as_long(view, other, record))
                            : fmt::format("The fastest of {} ways to do {} is {}; this one takes {}.", rivals.size(),
                                          work, view.name(other), times_as_long(view, record, other)));
  }
  if (const std::string text = prediction_text(record); !text.empty()) {
    const PredictionErrors errors = prediction_errors(view);
    std::string typical;
    if (errors.all.size() > 1) {
      typical = fmt::format(
          "; half of the {} predictions here are within {:.1f} % of the measured time, and the worst, of "
          "{}, {}",
          errors.all.size(), 100 * median(errors.all), view.name(*errors.farthest),
          errors.farthest == &record ? "is this one" : prediction_text(*errors.farthest));
    }
    sentences.push_back(fmt::format("The prediction before the run: {}{}.", text, typical));
  }
  for (const HeldPoint& point : held_against_published(view)) {
    if (point.of.is_headline) sentences.push_back(published_sentence(view, point));
  }
  return fmt::format("{}", fmt::join(sentences, " "));
}

PageSection summary_of_comparisons(const PageView& view) {
  PageSection section{.id = "comparisons", .title = "How it compares"};
  const auto add = [&](const char* question, std::vector<std::string> answers, std::string conclusion) {
    if (!answers.empty()) section.questions.push_back({question, std::move(answers), std::move(conclusion)});
  };
  add("Which number type and mode is fastest, and by how much?", against_rivals(view), fastest_way(view));
  const std::vector<HeldPoint> held = held_against_published(view);
  add("Against times that other people published, on other machines?", against_published(view, held),
      published_conclusion(held));
  add("Against the prediction that was made before the run?", against_predictions(view), prediction_conclusion(view));
  return section;
}

}  // namespace laptime
