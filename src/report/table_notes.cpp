// Collects peaks and skipped steps while the rows of a table go by.
#include "report/table_notes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "base/units.h"
#include "base/words.h"
#include "record/metrics.h"
#include "report/column_sets/readers.h"
#include "report/compare_command.h"
#include "report/first_steps.h"
#include "report/lines.h"
#include "report/point_names.h"
#include "table/value_text.h"

namespace laptime {
namespace {

bool shows_verdict(const Column& column) { return column.title == "verdict"; }
bool is_of_document(const Column& column) { return column.of_document; }
bool shows_speedup(const Column& column) { return column.compares && column.title == "speedup"; }
bool shows_speedup_of_phases(const Column& column) { return shows_speedup(column) && column.of_phase; }
bool shows_measured_mfu(const Column& column) { return column.title == "mfu" || column.title == "mfu_measured"; }

// The steps of the samples, not of the warm-up, that made no update.
int64_t skipped_in_samples(const Record& record) {
  const int64_t warmup = record.stopping.warmup.value_or(0);
  return std::count_if(record.loss_scaling.skipped.begin(), record.loss_scaling.skipped.end(),
                       [&](int64_t step) { return step > warmup; });
}

}  // namespace

TableNotes::TableNotes(std::span<const Column> columns, bool details, const Baselines& baselines,
                       std::string_view store)
    : baselines_(&baselines),
      store_(store),
      has_mfu_(std::any_of(columns.begin(), columns.end(), shows_measured_mfu)),
      has_verdict_(std::any_of(columns.begin(), columns.end(), shows_verdict)),
      has_speedup_(std::any_of(columns.begin(), columns.end(), shows_speedup)),
      has_speedup_of_phases_(details && std::any_of(columns.begin(), columns.end(), shows_speedup_of_phases)),
      has_document_columns_(!has_verdict_ && std::any_of(columns.begin(), columns.end(), is_of_document)),
      details_(details),
      says_reasons_(details && have_notes(columns)) {
  const auto has = [&](std::string_view title) {
    return std::any_of(columns.begin(), columns.end(), [&](const Column& column) { return column.title == title; });
  };
  hides_first_steps_ = has("median") && !has("mean");
  for (const Column& column : columns) {
    const bool is_known = std::find(of_columns_.begin(), of_columns_.end(), column.note) != of_columns_.end();
    if (!column.note.empty() && !is_known) of_columns_.push_back(column.note);
  }
}

Extent TableNotes::extent() const {
  if (details_ || has_speedup_) return Extent::kWhole;  // rough speed-ups are judged by the spread of the samples
  return has_mfu_ ? Extent::kListed : Extent::kNames;
}

void TableNotes::add_verdict(const Record& record) {
  if (is_predicted(record)) return;
  const std::optional<Uncompared> uncompared = has_speedup_ ? baselines_->uncompared(record) : std::nullopt;
  if (uncompared) {
    std::string command = compare_command(uncompared->baseline, {record.name, record.config});
    const auto found = std::find(compare_commands_.begin(), compare_commands_.end(), command);
    if (!command.empty() && found == compare_commands_.end()) compare_commands_.push_back(std::move(command));
    some_uncompared_ = true;
    std::vector<std::string> shown{""};
    if (has_speedup_of_phases_) {
      for (const std::string& phase : shown_phases(record)) shown.push_back(phase);
    }
    some_refused_ = some_refused_ || std::any_of(shown.begin(), shown.end(), [&](const std::string& phase) {
                      return !baselines_->rough_speedup(record, phase);
                    });
    some_fixed_ = some_fixed_ || record.stopping.rule == "fixed";
  }
  for (const StabilityWord& word : stability_words()) {
    const bool is_of_row = has_verdict_ && record.verdict.rating == word.name;
    const bool is_of_speedup = uncompared && uncompared->stability == word.stability;
    if (word.stability != Stability::kStable && (is_of_row || is_of_speedup)) verdicts_.insert(word.stability);
  }
}

std::string TableNotes::verdict_line() const {
  if (verdicts_.empty()) return "";
  std::vector<std::string> meanings;
  for (const StabilityWord& word : stability_words()) {
    if (verdicts_.contains(word.stability)) meanings.push_back(fmt::format("{}: {}", word.name, word.meaning));
  }
  return fmt::format("verdicts (laptime list verdicts): {}", fmt::join(meanings, "; "));
}

void TableNotes::add_peak(const Record& record) {
  const FlopsUse& flops = record.flops;
  if (is_predicted(record) || flops.mfu_measured.value_or(0) <= 0 || !flops.model_flops_per_second) return;
  const double peak = *flops.model_flops_per_second / *flops.mfu_measured;
  const Json arithmetic = cells::arithmetic_of(Row(record), "");
  const auto [at, is_new] =
      peaks_.try_emplace(arithmetic.is_string() ? arithmetic.get<std::string>() : "", Peaks{.low = peak, .high = peak});
  Peaks& peaks = at->second;
  peaks.low = std::min(peaks.low, peak);
  peaks.high = std::max(peaks.high, peak);
  const std::string day = day_of(flops.peak_measured_at);
  if (day.empty()) return;
  peaks.first_day = peaks.first_day.empty() ? day : std::min(peaks.first_day, day);
  peaks.last_day = std::max(peaks.last_day, day);
}

void TableNotes::add(const Record& record, const Heading& heading) {
  some_times_ = some_times_ || record.status == Status::kOk;
  if (has_mfu_) add_peak(record);
  if (has_verdict_ || has_speedup_) add_verdict(record);
  if (hides_first_steps_ && varies_warmup(record) && !is_predicted(record)) {
    const std::string& name = record.name;
    warmups_.insert(name.substr(name.find("/warmup:")));
  }
  if (details_ && varies_warmup(record) && !is_predicted(record)) add_warmup(record);
  const int64_t skipped = skipped_in_samples(record);
  const TimeStats* const time = record.main_time();
  if (skipped == 0 || time == nullptr) return;
  skips_.push_back(fmt::format(
      "{}: {} of {} measured steps made no update, because a gradient of the scaled loss overflowed; such a "
      "step is shorter",
      heading.short_name(record), skipped, time->count * record.stopping.steps_per_sample.value_or(1)));
}

void TableNotes::add_warmup(const Record& record) {
  const TimeStats* const time = record.main_time();
  if (time == nullptr || !record.stopping.warmup || record.status != Status::kOk) return;
  const WarmedMean mean{
      .warmup = *record.stopping.warmup, .mean = time->mean, .std = time->std, .samples = time->count};
  std::string name = record.name;
  const size_t begin = name.find("/warmup:");
  name.erase(begin, name.find('/', begin + 1) - begin);
  const auto [at, is_new] = warmup_ends_.try_emplace(name, WarmupEnds{.fewest = mean, .most = mean});
  WarmupEnds& ends = at->second;
  if (mean.warmup < ends.fewest.warmup) ends.fewest = mean;
  if (mean.warmup > ends.most.warmup) ends.most = mean;
}

std::vector<std::string> TableNotes::warmup_lines() const {
  constexpr double kSigmas = 1.96;  // 95 % of a normal distribution
  constexpr size_t kMost = 4;
  std::vector<std::string> names;
  for (const auto& [name, ends] : warmup_ends_) {
    if (ends.fewest.warmup < ends.most.warmup) names.push_back(name);
  }
  const std::string common = common_words(names);
  std::vector<std::string> lines;
  for (size_t i = 0; i < std::min(kMost, names.size()); ++i) {
    const auto& [fewest, most] = warmup_ends_.at(names[i]);
    if (most.mean <= 0) continue;
    const double difference = fewest.mean / most.mean - 1;
    std::string line =
        fmt::format("{}after {} of warm-up the mean is {} {} that after {}",
                    names.size() > 1 ? without_words(names[i], common) + ": " : "", counted(fewest.warmup, "step"),
                    percent_text(std::abs(difference)), difference < 0 ? "below" : "above", most.warmup);
    if (most.std && fewest.samples > 0 && most.samples > 0) {
      // Slow first samples widen the spread that they are judged by, so that the spread is that after the warm-up.
      const double samples = 1 / static_cast<double>(fewest.samples) + 1 / static_cast<double>(most.samples);
      const double noise = kSigmas * *most.std * std::sqrt(samples) / most.mean;
      line += fmt::format(": {} the noise of the samples, +-{} (95 %, from the standard deviation after {})",
                          std::abs(difference) > noise ? "outside" : "within", percent_text(noise), most.warmup);
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

std::vector<std::string> TableNotes::take_reasons(const Record& record) {
  if (!says_reasons_ || is_predicted(record) || record.main_time() == nullptr) return record.verdict.reasons;
  std::vector<std::string> fresh;
  for (const std::string& reason : record.verdict.reasons) {
    const auto known =
        std::find_if(reasons_.begin(), reasons_.end(), [&](const SharedReason& one) { return one.reason == reason; });
    if (known == reasons_.end()) {
      reasons_.push_back({reason, 1});
      fresh.push_back(reason);
    } else {
      ++known->rows;
    }
  }
  const bool some_are_below = fresh.size() < record.verdict.reasons.size();
  if (some_are_below && !fresh.empty()) fresh.emplace_back("more below the table");
  return fresh;
}

std::vector<std::string> TableNotes::compare_lines() const {
  constexpr size_t kMost = 8;
  if (!some_uncompared_) return {};
  std::vector<std::string> lines{fmt::format(
      "where a verdict is against one of the two times of a row or phase, {} marks a speedup that is farther from 1 "
      "than {} times the spread of both (10th to 90th percentile), and any other gives way to the verdict; A and B "
      "measured in turn show it {}:",
      kRoughMark, kBeyondSpread, some_refused_ ? "all the same" : "exactly")};
  for (size_t i = 0; i < std::min(kMost, compare_commands_.size()); ++i)
    lines.push_back("  " + compare_commands_[i] + store_words(store_));
  if (compare_commands_.empty()) lines.emplace_back("  laptime compare --help");
  if (compare_commands_.size() > kMost)
    lines.push_back(fmt::format("  and {} more pairs of rows", compare_commands_.size() - kMost));
  if (some_fixed_) {
    lines.emplace_back(
        "leave out --warmup and --steps, here and in bench: the number of steps is then what the figure needs");
  }
  return lines;
}

std::string TableNotes::columns_line(std::string_view before, std::string_view columns, std::string_view what) const {
  return fmt::format(
      "{}--columns {} has {}{}", before, columns, what,
      store_ == "none" ? "" : fmt::format(": laptime show --last --columns {}{}", columns, store_words(store_)));
}

std::vector<std::string> TableNotes::lines() const {
  constexpr size_t kMostSkips = 3;
  std::vector<std::string> lines;
  std::vector<std::string> peaks;
  for (const auto& [arithmetic, of] : peaks_) {
    const std::string low = format_flops(of.low);
    const std::string high = format_flops(of.high);
    std::string when;
    if (!of.first_day.empty()) {
      when = fmt::format("{}measured {}{}", arithmetic.empty() ? "" : ", ", of.first_day,
                         of.first_day == of.last_day ? "" : " to " + of.last_day);
    }
    const std::string about = arithmetic + when;
    peaks.push_back(fmt::format("{}{}/s{}", low == high ? "" : low + "/s to ", high,
                                about.empty() ? "" : fmt::format(" ({})", about)));
  }
  if (!peaks.empty()) lines.push_back(fmt::format("mfu is of a measured peak: {}", fmt::join(peaks, ", ")));
  lines.insert(lines.end(), skips_.begin(),
               skips_.begin() + static_cast<std::ptrdiff_t>(std::min(kMostSkips, skips_.size())));
  if (skips_.size() > kMostSkips) {
    lines.push_back(
        fmt::format("{} more rows have such steps: --columns name,skipped_steps", skips_.size() - kMostSkips));
  }
  for (std::string& line : warmup_lines()) lines.push_back(std::move(line));
  if (warmups_.size() > 1) {
    lines.push_back(columns_line("a median hardly shows what warm-up does; ", "first_steps",
                                 "mean, standard deviation and the first samples"));
  }
  if (has_document_columns_ && some_times_)
    lines.push_back(columns_line("", "mean_std", "each phase, minimum, maximum and the verdict of each row"));
  if (has_speedup_ && some_times_ && !baselines_->any()) {
    lines.emplace_back(
        "no speedup: these rows do not vary in mode, number type, threads or another way to compute the same step, as "
        "with --mode eager,compile or --dtype float32,bfloat16");
  }
  lines.insert(lines.end(), of_columns_.begin(), of_columns_.end());
  for (const SharedReason& shared : reasons_) {
    if (shared.rows > 1) lines.push_back(fmt::format("{} rows: {}", shared.rows, shared.reason));
  }
  if (std::string verdicts = verdict_line(); !verdicts.empty()) lines.push_back(std::move(verdicts));
  const std::vector<std::string> comparisons = compare_lines();
  lines.insert(lines.end(), comparisons.begin(), comparisons.end());
  return lines;
}

}  // namespace laptime
