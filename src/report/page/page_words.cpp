// Collects the words that the records of a page use.
#include "report/page/page_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "base/units.h"
#include "base/words.h"
#include "distribution/drift.h"
#include "distribution/steady_state.h"
#include "distribution/stopping_rule.h"
#include "distribution/verdict.h"
#include "record/metrics.h"
#include "report/column_sets/readers.h"
#include "report/row.h"
#include "report/speedup.h"

namespace laptime {
namespace {

std::string in_words(std::string_view name) {
  std::string text(name);
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

// Parts of the texts of cells::arithmetic_of. A part within another one comes after it, and then means nothing itself.
constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kArithmetic{
    {{"bfloat16 autocast",
      "matrix products take factors rounded to bfloat16 and add up in float32; all else is float32"},
     {"float16 autocast", "matrix products take factors rounded to float16 and add up in float32; all else is float32"},
     {"widened", "the rounded factors are widened to float32 before they are multiplied"},
     {"partly split",
      "where that was faster here, a matrix product of float32 is the sum of products of bfloat16 terms, three for "
      "each float32, which is about as exact"},
     {"split",
      "each matrix product of float32 is the sum of products of bfloat16 terms, three for each float32, which is about "
      "as exact"},
     {"tf32", "factors of matrix products are rounded to the 10 bits of mantissa of TF32"}}};

// Seconds of the samples alone; none where a step has no finite time.
std::span<const double> finite_samples(const Record& record) {
  const TimeStats* const time = record.main_time();
  const auto are_finite = [](const std::vector<double>& steps) {
    return std::all_of(steps.begin(), steps.end(), [](double step) { return std::isfinite(step); });
  };
  if (time == nullptr || !are_finite(time->samples) || !are_finite(record.transient.warmup)) return {};
  return time->samples;
}

std::string with_sign(double fraction, double limit) {
  return (fraction < 0 ? "-" : "+") + percent_beyond(fraction, limit);
}

// "drifts +3.1 % over 60 samples"; empty where the trend is no more than the limit, that of a verdict.
std::string trend_text(const Record& record, double limit) {
  const std::span<const double> samples = finite_samples(record);
  if (samples.empty()) return "";
  const Drift drift = find_drift(samples);
  if (!drift.significant || std::abs(drift.change) <= limit) return "";
  return fmt::format("drifts {} over {}", with_sign(drift.change, limit), counted(samples.size(), "sample"));
}

// "last 5 steps -1.5 %": the end of the samples, or else their begin, where it was not steady.
std::string ends_text(const Record& record) {
  if (finite_samples(record).empty()) return "";
  const std::vector<double> steps = whole_series(record);
  const auto warmup = static_cast<int64_t>(record.transient.warmup.size());
  const auto text = [](std::string_view which, const SteadyState& state) {
    return fmt::format("{} {} steps {}", which, kSteadyWindow, with_sign(state.change, kSteadyTolerance));
  };
  if (const SteadyState end = steady_at_end(steps); end.steadiness == Steadiness::kNotReached) return text("last", end);
  if (warmup < kSteadyWindow || warmup + kSteadyWindow > static_cast<int64_t>(steps.size())) return "";
  const SteadyState begin = find_steady_state(steps, warmup, warmup);
  return begin.steadiness == Steadiness::kNotReached ? text("first", begin) : "";
}

bool is_of_word(char c) { return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0; }

// Whether a text has a word, and not as a part of a longer one.
bool has_word(std::string_view text, std::string_view word) {
  for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || !is_of_word(text[at - 1])) && (end == text.size() || !is_of_word(text[end]))) return true;
  }
  return false;
}

// Those that a text has, as people read them or as tables and files write them.
std::vector<PageWord> words_in(std::string_view text, const std::vector<PageWord>& words) {
  std::vector<PageWord> found;
  for (const PageWord& word : words) {
    std::string written = word.word;
    std::replace(written.begin(), written.end(), ' ', '_');
    if (has_word(text, word.word) || has_word(text, written)) found.push_back(word);
  }
  return found;
}

}  // namespace

std::string verdict_text(const Record& record) {
  return in_words(is_predicted(record) ? kPredicted : record.verdict.rating);
}

std::vector<double> whole_series(const Record& record) {
  std::vector<double> steps = record.transient.warmup;
  if (const TimeStats* const time = record.main_time())
    steps.insert(steps.end(), time->samples.begin(), time->samples.end());
  return steps;
}

std::string drift_text(const Record& record) {
  std::string ends = ends_text(record);
  return ends.empty() ? trend_text(record, kNoSteadyStateDrift) : ends;
}

std::string verdict_and_reason(const Record& record) {
  std::string verdict = verdict_text(record);
  const std::string& rating = record.verdict.rating;
  if (is_predicted(record) || rating == name_of(Stability::kStable)) return verdict;
  const bool is_unstable = rating == name_of(Stability::kUnstable);
  std::vector<std::string> reasons;
  if (const TimeStats* const time = record.main_time();
      time != nullptr && (is_unstable || rating == name_of(Stability::kNoisy))) {
    if (time->ci_low && time->ci_high && time->median > 0) {
      const double width = relative_half_width({*time->ci_low, *time->ci_high}, time->median);
      if (width > (is_unstable ? kUnstableInterval : kNoisyInterval))
        reasons.push_back(fmt::format("interval {:+.1f} .. {:+.1f} %", 100 * (*time->ci_low / time->median - 1),
                                      100 * (*time->ci_high / time->median - 1)));
    }
    if (is_unstable && time->std && time->mean > 0 && *time->std >= kUnstableSpread * time->mean)
      reasons.push_back(fmt::format("standard deviation {:.0f} %", 100 * *time->std / time->mean));
    if (!is_unstable && time->modes.size() == 2) reasons.emplace_back("two modes");
  }
  // Steps that are unsteady at the ends alone have the verdict "no steady state".
  std::string drift = rating == name_of(Stability::kNoSteadyState) ? drift_text(record)
                      : rating == name_of(Stability::kNoisy)       ? trend_text(record, kNoisyDrift)
                                                                   : "";
  if (!drift.empty()) reasons.push_back(std::move(drift));
  if (reasons.empty() && !record.verdict.reasons.empty()) {
    const std::string& first = record.verdict.reasons.front();
    reasons.push_back(first.substr(0, first.find(" (limit ")));  // the rule beside the word has it
  }
  return reasons.empty() ? verdict : fmt::format("{}: {}", verdict, fmt::join(reasons, ", "));
}

std::string peak_name(const Record& record) {
  const std::string type = record.config.text("dtype");
  return fmt::format("{} {}peak of matrix products", is_predicted(record) ? "data sheet's" : "measured",
                     type.empty() ? "" : type + " ");
}

std::string bounding_peak_name(const Record& record) {
  return is_predicted(record) ? "peak of matrix products that the prediction takes" : peak_name(record);
}

std::string bandwidth_name(const Record& record) {
  return is_predicted(record) ? "bandwidth of memory that the prediction takes" : "measured bandwidth of main memory";
}

bool is_same_arithmetic(std::string_view published, const Record& record) {
  const Json own = cells::arithmetic_of(Row(record), "");
  if (!own.is_string()) return false;
  std::string_view text = own.get_ref<const std::string&>();
  if (!text.starts_with(published)) return false;
  text.remove_prefix(published.size());
  constexpr std::array<std::string_view, 4> kAsExact{",", " partly split", " split", " widened"};
  return text.empty() ||
         std::any_of(kAsExact.begin(), kAsExact.end(), [&](std::string_view part) { return text.starts_with(part); });
}

std::string range_text(const std::vector<double>& values, const std::function<std::string(double)>& text) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  const std::string from = text(*low);
  const std::string to = text(*high);
  return from == to ? from : fmt::format("{} to {}", from, to);
}

const TimeStats* time_of_part(const Record& record, std::string_view part) {
  const TimeStats* const time = cells::time_of(record, part);
  return time == nullptr || time->count == 0 ? nullptr : time;
}

PageWord interval_word() {
  return {"95 % interval",
          "where the median of many more samples would lie, as resampling these samples shows; (a .. b) behind a time"};
}

std::string published_against(double published, const Record& record, const TimeStats& own, std::string_view as) {
  const bool is_faster = own.median >= published;
  const auto times = [&](double seconds) { return is_faster ? seconds / published : published / seconds; };
  std::string text = fmt::format("{:.3g} times as {}{}", times(own.median), is_faster ? "fast" : "slow", as);
  if (is_predicted(record)) return text;
  if (!verdict_against_comparing(record).empty()) return "roughly " + text;
  if (!own.ci_low || !own.ci_high || *own.ci_low <= 0) return text;
  const auto [low, high] = std::minmax({times(*own.ci_low), times(*own.ci_high)});
  return fmt::format("{} ({:.3g} .. {:.3g})", text, low, high);
}

std::vector<PageWord> verdict_words(const std::vector<const Record*>& records) {
  std::set<std::string> used;
  for (const Record* const record : records) {
    if (record->status == Status::kOk) used.insert(verdict_text(*record));
  }
  std::vector<PageWord> words;
  for (const StabilityWord& stability : stability_words()) {
    if (std::string word = in_words(stability.name); used.contains(word))
      words.push_back({std::move(word), std::string(stability.meaning)});
  }
  const std::string unsteady = in_words(name_of(Stability::kNoSteadyState));
  for (PageWord& word : words) {
    if (word.word == unsteady) word.meaning += "; the percentage after it is this difference";
  }
  if (used.contains(kPredicted))
    words.push_back({kPredicted, "computed for a described machine; nothing was measured"});
  return words;
}

void explain_verdicts(const PageView& view, PageSection& section) {
  std::vector<PageWord> words = verdict_words(view.points());  // those that are not explained yet
  for (PageFigure& figure : section.figures) {
    std::string texts = fmt::format("{}\n{}\n{}\n", figure.title, figure.reading,
                                    figure.chart.dump(-1, ' ', true, Json::error_handler_t::replace));
    for (const std::vector<std::string>& row : figure.table.shown) texts += fmt::format("{}\n", fmt::join(row, "\n"));
    texts += fmt::format("{}", fmt::join(figure.table.notes, "\n"));
    const std::vector<PageWord> used = words_in(texts, words);
    if (!figure.chart.is_null() || figure.is_open) {
      figure.words.insert(figure.words.end(), used.begin(), used.end());
      std::erase_if(words, [&](const PageWord& word) {
        return std::any_of(used.begin(), used.end(), [&](const PageWord& one) { return one.word == word.word; });
      });
    } else {
      for (const PageWord& word : used) figure.table.notes.push_back(fmt::format("{}: {}", word.word, word.meaning));
    }
  }
  std::string texts = fmt::format("{}\n", fmt::join(section.lines, "\n"));
  for (const PageQuestion& one : section.questions)
    texts += fmt::format("{}\n{}\n", fmt::join(one.answers, "\n"), one.conclusion);
  section.words = words_in(texts, words);
}

std::vector<PageWord> arithmetic_words(const std::vector<const Record*>& records) {
  std::set<std::string> used;
  for (const Record* const record : records) {
    if (const Json text = cells::arithmetic_of(Row(*record), ""); text.is_string())
      used.insert(text.get<std::string>());
  }
  std::vector<PageWord> words;
  for (const std::string& text : used) {
    std::vector<std::string_view> meanings;
    std::string found;
    for (const auto& [part, meaning] : kArithmetic) {
      if (text.find(part) == std::string::npos || found.find(part) != std::string::npos) continue;
      found += part;
      meanings.push_back(meaning);
    }
    if (!meanings.empty()) words.push_back({text, fmt::format("{}", fmt::join(meanings, "; "))});
  }
  return words;
}

}  // namespace laptime
