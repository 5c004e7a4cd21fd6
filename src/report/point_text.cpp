// Sentences of a point.
#include "report/point_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <type_traits>

#include "analysis/speedup.h"
#include "base/units.h"
#include "base/words.h"
#include "record/metrics.h"
#include "report/columns.h"
#include "report/first_steps.h"
#include "report/row.h"

namespace laptime {
namespace {

std::string spaced(std::string_view key) {
  std::string text(key);
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

// "273 ms per step (±7 %)   470 tokens/s   22 % of peak   380 MiB"
std::string answer_of(const Record& record, const TimeStats& time) {
  const std::optional<double> doubt = is_predicted(record) ? std::nullopt : uncertainty_of(time);
  std::string text = fmt::format("{} per {}", value_text(time.median, Unit::kSeconds, std::nullopt, doubt.value_or(0)),
                                 spaced(record.config.text("pass")));
  if (doubt) text += fmt::format(" ({})", plus_minus_text(*doubt));
  const Row row(record);
  const auto add = [&](const char* column, Unit unit, std::string_view after) {
    const Json value = row.value(column);
    if (!value.is_null()) text += "   " + value_text(value, unit, std::nullopt, doubt.value_or(0)) + std::string(after);
  };
  add("tokens/s", Unit::kTokensPerSecond, " tokens/s");
  add("mfu", Unit::kFraction, " of peak");
  const Json peak = row.value("peak");
  if (!peak.is_null()) text += "   " + value_text(peak, Unit::kBytes);
  return text;
}

// "forward 80 ms (29 %)   backward 158 ms (58 %)"; empty for a pass of one phase.
std::string phases_line(const Record& record) {
  std::vector<std::string> texts;
  std::vector<int64_t> parts;
  constexpr double kNanoseconds = 1e9;
  constexpr double kLongest = 1e8;  // seconds: longer ones are no times
  for (const PhaseShare& share : record.phases) {
    if (!(std::abs(share.seconds) < kLongest)) return "";
    parts.push_back(static_cast<int64_t>(share.seconds * kNanoseconds));
  }
  const std::vector<int64_t> percents = whole_percents(parts);
  const std::vector<std::string> phases = phases_of(record);
  for (size_t i = 0; i < percents.size(); ++i) {
    const PhaseShare& share = record.phases[i];
    if (std::find(phases.begin(), phases.end(), share.phase) == phases.end()) continue;
    const TimeStats& time = record.time.at(share.phase);
    texts.push_back(fmt::format("{} {} ({} %)", share.phase, value_text(time.median, Unit::kSeconds), percents[i]));
  }
  return texts.size() < 2 ? "" : joined(texts, "   ");
}

// Measured steps that made no update because a gradient overflowed.
int64_t skipped_in_samples(const Record& record) {
  const int64_t warmup = record.stopping.warmup.value_or(0);
  return std::count_if(record.loss_scaling.skipped.begin(), record.loss_scaling.skipped.end(),
                       [&](int64_t step) { return step > warmup; });
}

// "77 steps", the loss if it changed, and how many steps made no update.
std::string samples_text(const Record& record, const TimeStats& time) {
  if (is_predicted(record)) return "";
  std::string text = counted(time.count * record.stopping.steps_per_sample.value_or(1), "step");
  const std::vector<double>& loss = record.loss.values;
  if (loss.size() > 1) text += fmt::format(" · loss {} → {}", fixed_text(loss.front(), 2), fixed_text(loss.back(), 2));
  if (const int64_t skipped = skipped_in_samples(record); skipped > 0)
    text += fmt::format(" · {} of {} made no update", skipped, counted(time.count, "step"));
  return text;
}

// "plan 12.00 ms, memory 0.200 s": the parts of a sum that are known and not zero.
std::string parts_of(const SetupTimes& times) {
  constexpr std::array<std::string_view, 5> kParts{"plan", "kernel_trial", "memory", "weights", "data"};
  std::string text;
  SetupTimes::visit_fields(times, [&](const char* name, const auto& value) {
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::optional<double>>) {
      if (!value || *value == 0 || std::find(kParts.begin(), kParts.end(), name) == kParts.end()) return;
      text += (text.empty() ? "" : ", ") + spaced(name) + " " + format_seconds(*value);
    }
  });
  return text.empty() ? "" : " (" + text + ")";
}

}  // namespace

std::vector<std::string> phases_of(const Record& record) {
  std::vector<std::string> phases;
  const std::string pass = record.config.text("pass");
  if (!record.time.contains(pass)) return phases;
  const auto add = [&](const std::string& phase) {
    const bool is_known = std::find(phases.begin(), phases.end(), phase) != phases.end();
    if (phase != pass && !is_known && record.time.contains(phase)) phases.push_back(phase);
  };
  for (const PhaseShare& share : record.phases) add(share.phase);
  for (const auto& [phase, time] : record.time) add(phase);
  return phases;
}

std::string point_text(const Record& record, const Heading& heading, const TableStyle& style, bool is_stored) {
  const auto line = [&](const std::string& text, size_t hanging) {
    return text.empty() ? "" : broken_at_spaces(terminal_text(text, style.unicode), style.width, hanging) + "\n";
  };
  const TimeStats* const time = record.main_time();
  const bool has_time = time != nullptr && time->count > 0;
  std::string text;
  std::string samples;
  if (record.status != Status::kOk)
    text += line(fmt::format("{}: {}", spaced(name_of(record.status)), reason_of(record)), 2);
  if (has_time) {
    text += line(answer_of(record, *time), 2) + line("  " + phases_line(record), 2);
    samples = samples_text(record, *time);
  }
  if (style.quiet) return text;
  std::vector<std::string> about{heading.shared_text(record), heading.machine_text(record), std::move(samples)};
  if (is_stored) about.push_back("from the store, " + minute_of(record.created));
  std::erase(about, "");
  return text + line(joined(about, " · "), 2);
}

std::vector<std::string> details_of(const Record& record) {
  std::vector<std::string> lines;
  if (is_predicted(record)) return lines;  // nothing was set up, and no step was the first
  if (record.setup.total) lines.push_back("set-up " + format_seconds(*record.setup.total) + parts_of(record.setup));
  if (record.transient.excess && record.main_time() != nullptr) lines.push_back(first_steps_text(record));
  if (const int64_t steps = record.stopping.steps_per_sample.value_or(1); steps > 1)
    lines.push_back(fmt::format("a sample is {} steps: one is too short to time", steps));
  const FlopsUse& flops = record.flops;
  if (flops.mfu_measured.value_or(0) > 0 && flops.model_flops_per_second) {
    lines.push_back(fmt::format("mfu is of a measured peak: {}/s{}",
                                format_flops(*flops.model_flops_per_second / *flops.mfu_measured),
                                flops.peak_measured_at.empty() ? "" : ", " + day_of(flops.peak_measured_at)));
  }
  if (!flops.above_peak.empty()) lines.push_back("mfu above 1: " + flops.above_peak);
  if (const int64_t skipped = skipped_in_samples(record); skipped > 0)
    lines.push_back(fmt::format("{} made no update, because a gradient of the scaled loss overflowed",
                                counted(skipped, "measured step")));
  if (!record.verdict.rating.empty()) {
    lines.push_back(
        fmt::format("{}{}", spaced(record.verdict.rating),
                    record.verdict.reasons.empty() ? "" : fmt::format(": {}", joined(record.verdict.reasons, "; "))));
  }
  return lines;
}

}  // namespace laptime
