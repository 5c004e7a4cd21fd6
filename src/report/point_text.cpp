// Turns records into sentences.
#include "report/point_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "analysis/speedup.h"
#include "base/checked.h"
#include "base/units.h"
#include "base/words.h"
#include "distribution/bootstrap.h"
#include "distribution/verdict.h"
#include "report/columns.h"
#include "report/words.h"
#include "table/text.h"

namespace laptime {
namespace {

// The output warns about a median if its 95 % interval extends further than this fraction from the median.
constexpr double kTrustedWithin = kUnstableInterval;

// "2.22 to 3.72 ms" for "2.22 ms" and "3.72 ms".
std::string range_text(std::string_view low, std::string_view high) {
  const size_t unit = low.rfind(' ');
  const bool is_shared = unit != std::string_view::npos && high.ends_with(low.substr(unit));
  return fmt::format("{} to {}", is_shared ? low.substr(0, unit) : low, high);
}

// "273 ms per step (±7 %)   470 tokens/s   22 % of peak   380 MiB"
std::string answer_of(const Record& record, const TimeStats& time, std::string_view mfu) {
  const std::optional<double> doubt = uncertainty_of(record);
  const double rounds = doubt.value_or(0);
  std::string text = fmt::format("{} per {}", value_text(time.median, Unit::kSeconds, std::nullopt, rounds),
                                 spaced(record.config.text("pass")));
  if (doubt) text += fmt::format(" ({})", plus_minus_text(*doubt));
  const auto& [low, high] = std::pair(record.prediction.low, record.prediction.high);
  if (is_predicted(record) && low && high)
    text += fmt::format(" ({})", range_text(brief_seconds(*low), brief_seconds(*high)));
  const auto add = [&](std::string_view column, Unit unit, double uncertainty, const std::string& after) {
    const Json value = value_of(record, column);
    if (!value.is_null()) text += fmt::format("   {}{}", value_text(value, unit, std::nullopt, uncertainty), after);
  };
  add("tokens/s", Unit::kTokensPerSecond, rounds, " tokens/s");
  add(mfu, Unit::kFraction, rounds, " " + peak_share_words(mfu));
  add("peak", Unit::kBytes, 0, "");
  return text;
}

// "  forward 80 ms (29 %)   backward 158 ms (58 %)": medians, as shares of the median step; empty for a pass of one
// phase.
std::string phases_line(const Record& record) {
  const TimeStats* const whole = record.main_time();
  if (whole == nullptr) return "";
  const std::vector<std::string> timed = phases_of(record);
  std::vector<std::string> phases;
  std::vector<double> seconds;
  double rest = whole->median;
  for (const PhaseShare& share : record.phases) {
    if (!is_among(share.phase, timed)) continue;
    phases.push_back(share.phase);
    seconds.push_back(record.time.at(share.phase).median);
    rest -= seconds.back();
    if (!std::isfinite(seconds.back())) return "";
  }
  seconds.push_back(std::max(0.0, rest));
  const std::vector<int64_t> percents = whole_percents(seconds);
  std::vector<std::string> texts;
  for (size_t i = 0; i < phases.size(); ++i)
    texts.push_back(fmt::format("{} {} ({} %)", phases[i], brief_seconds(seconds[i]), percents[i]));
  if (const std::optional<double> exposed = record.communication.exposed)
    texts.push_back(fmt::format("{} waiting for other ranks", brief_seconds(*exposed)));
  return texts.size() < 2 ? "" : "  " + joined(texts, "   ");
}

int64_t skipped_in_samples(const Record& record) {
  const int64_t warmup = record.stopping.warmup.value_or(0);
  return std::ranges::count_if(record.loss_scaling.skipped, [&](int64_t step) { return step > warmup; });
}

std::string samples_text(const Record& record, const TimeStats& time) {
  if (is_predicted(record)) return "";
  const int64_t steps = time.count * record.stopping.steps_per_sample.value_or(1);
  std::string text = counted(steps, "step");
  const std::vector<double>& loss = record.loss.values;
  if (loss.size() > 1) text += fmt::format(" · loss {} → {}", fixed_text(loss.front(), 2), fixed_text(loss.back(), 2));
  if (const int64_t skipped = skipped_in_samples(record); skipped > 0)
    text += fmt::format(" · {} of {} made no update", skipped, counted(steps, "step"));
  return text;
}

// " (plan 12.00 ms, memory 0.200 s)": the known, non-zero parts of the set-up time.
std::string parts_of(const SetupTimes& times) {
  std::vector<std::string> parts;
  for (const auto& [name, seconds] :
       {std::pair("plan", times.plan), std::pair("kernel trial", times.kernel_trial), std::pair("memory", times.memory),
        std::pair("weights", times.weights), std::pair("data", times.data)}) {
    if (seconds.value_or(0) != 0) parts.push_back(fmt::format("{} {}", name, format_seconds(*seconds)));
  }
  return parts.empty() ? "" : fmt::format(" ({})", joined(parts, ", "));
}

// "8 x 1 x 16384 x 16384 x 4 bytes = 8.00 GiB"; only "8.00 GiB" if the shape does not give that size.
std::string product(const TensorUse& tensor) {
  std::string bytes = format_bytes(tensor.bytes);
  double numel = 1;  // exact up to 2^53 elements
  for (const int64_t extent : tensor.shape) numel *= static_cast<double>(extent);
  const double size = static_cast<double>(tensor.bytes) / numel;
  if (tensor.shape.empty() || (size != 1 && size != 2 && size != 4 && size != 8)) return bytes;
  return fmt::format("{} x {:.0f} byte{} = {}", joined(tensor.shape, " x "), size, size == 1 ? "" : "s", bytes);
}

std::string origin(const TensorUse& tensor) {
  if (tensor.op.empty()) return fmt::format("{} ({})", tensor.name, tensor.role);
  const std::string place = tensor.scope.empty() ? "" : " in " + tensor.scope;
  const std::string phase = tensor.phase.empty() || tensor.phase == "setup" ? "" : ", " + tensor.phase;
  return fmt::format("made by {}{}{} ({})", tensor.op, place, phase, tensor.role);
}

}  // namespace

std::vector<std::string> phases_of(const Record& record) {
  std::vector<std::string> phases;
  const std::string pass = record.config.text("pass");
  if (!record.time.contains(pass)) return phases;
  const auto add = [&](const std::string& phase) {
    if (phase != pass && !is_among(phase, phases) && record.time.contains(phase)) phases.push_back(phase);
  };
  for (const PhaseShare& share : record.phases) add(share.phase);
  for (const auto& [phase, time] : record.time) add(phase);
  return phases;
}

std::string point_text(const Record& record, const Heading& heading, const TextStyle& style, bool quiet, bool is_stored,
                       std::string_view mfu) {
  const auto line = [&](const std::string& text) { return text.empty() ? "" : wrapped(text, style); };
  std::string text;
  std::string samples;
  if (record.status != Status::kOk)
    text += line(fmt::format("{}: {}", spaced(name_of(record.status)), reason_of(record)));
  if (const TimeStats* const time = time_of(record)) {
    text += line(answer_of(record, *time, mfu)) + line(phases_line(record));
    samples = samples_text(record, *time);
  }
  if (quiet) return text;
  std::vector<std::string> about{heading.shared_text(record), heading.machine_text(record), std::move(samples)};
  if (is_stored) about.push_back("from the store, " + minute_of(record.created));
  return text + line(joined_nonempty(std::move(about), " · "));
}

std::string peak_share_words(std::string_view metric) {
  const size_t rule = metric.find('_');
  return rule == std::string_view::npos ? "of peak" : fmt::format("of peak ({})", metric.substr(rule + 1));
}

std::string first_steps_text(const Record& record) {
  const Transient& transient = record.transient;
  const double excess = *transient.excess;
  if (!std::isfinite(excess)) return "first steps: extra time unknown";
  if (excess <= 0) return "first steps: no longer than later ones";
  const int64_t count = transient.steps.value_or(1);
  std::string text = fmt::format("first {} {} longer", count == 1 ? "step" : fmt::format("{} steps together", count),
                                 format_seconds(excess));
  if (!transient.page_faults) return text;
  return fmt::format("{}, {} of it page faults", text, format_seconds(std::min(excess, *transient.page_faults)));
}

std::vector<std::string> details_of(const Record& record) {
  std::vector<std::string> lines;
  if (is_predicted(record)) return lines;  // nothing was set up, and there were no first steps
  if (record.setup.total) lines.push_back("set-up " + format_seconds(*record.setup.total) + parts_of(record.setup));
  if (record.transient.excess && record.main_time() != nullptr) lines.push_back(first_steps_text(record));
  if (const int64_t steps = record.stopping.steps_per_sample.value_or(1); steps > 1)
    lines.push_back(fmt::format("a sample is {} steps, because one step is too short to time", steps));
  const FlopsUse& flops = record.flops;
  if (flops.mfu_measured.value_or(0) > 0 && flops.model_flops_per_second) {
    lines.push_back(fmt::format("mfu is relative to a measured peak: {}/s{}",
                                format_flops(*flops.model_flops_per_second / *flops.mfu_measured),
                                flops.peak_measured_at.empty() ? "" : ", " + day_of(flops.peak_measured_at)));
  }
  if (!flops.above_peak.empty()) lines.push_back("mfu above 1: " + flops.above_peak);
  if (const int64_t skipped = skipped_in_samples(record); skipped > 0)
    lines.push_back(fmt::format("{} made no update, because a gradient of the scaled loss overflowed",
                                counted(skipped, "measured step")));
  if (!record.verdict.rating.empty()) {
    const std::string why = joined(record.verdict.reasons, "; ");
    lines.push_back(spaced(record.verdict.rating) + (why.empty() ? "" : ": " + why));
  }
  return lines;
}

std::string reason_of(const Record& record) {
  if (record.status == Status::kOk) return "";
  std::string reason = record.reason.empty() ? "no reason stated" : record.reason;
  const bool has_arithmetic = reason.find("iB") != std::string::npos;
  if (record.bytes_requested && !has_arithmetic) reason += "; requested " + format_bytes(*record.bytes_requested);
  if (record.bytes_available && !has_arithmetic) reason += "; available " + format_bytes(*record.bytes_available);
  if (!record.op.empty()) reason += fmt::format("; op {}", record.op);
  if (!record.scope.empty()) reason += fmt::format("; at {}", record.scope);
  return reason;
}

bool is_smaller_shortage(const Record& a, const std::optional<Record>& b) {
  const auto asked_for = [](const Record& record) {
    return record.bytes_requested ? record.bytes_requested : record.memory.predicted_peak_bytes;
  };
  if (a.status != Status::kOutOfMemory) return false;
  return !b || (asked_for(a) && (!asked_for(*b) || *asked_for(a) < *asked_for(*b)));
}

std::string explain_shortage(const Record& record) {
  std::string text = fmt::format("\nthe smallest point that does not fit: {}\n  {}\n",
                                 printable(spoken_name(record.name)), printable(reason_of(record)));
  const MemoryUse& memory = record.memory;
  if (memory.largest.empty()) return text;
  std::vector<Cells> rows;
  Size listed = 0;
  for (const TensorUse& tensor : memory.largest) {
    rows.push_back({product(tensor), printable(origin(tensor))});
    listed += tensor.bytes;
  }
  const int64_t whole = std::max(memory.predicted_peak_bytes.value_or(0), listed.value());
  const int64_t rest = whole - listed.value();
  if (rest > 0) rows.push_back({format_bytes(rest), "everything else, and gaps between tensors"});
  rows.push_back({format_bytes(whole), "total"});
  return text + "live at the peak:\n" + aligned(rows, {}, 2);
}

void TrustLine::add(const Record& record) {
  const TimeStats* const time = time_of(record);
  if (time == nullptr) return;
  if (is_predicted(record)) {
    is_predicted_ = true;
    return;
  }
  ++rows_;
  const Verdict& verdict = record.verdict;
  const bool is_busy = verdict.lost.value_or(0) > kUnstableLoss;
  if (is_busy && *verdict.lost > lost_) {
    lost_ = *verdict.lost;
    lost_to_ = verdict.lost_to.empty() ? "to other programs" : verdict.lost_to;
  }
  uncertainty_ = std::max(uncertainty_, uncertainty_of(*time));
  if (time->count < kFewestForInterval) {
    few_samples_ = std::min(few_samples_.value_or(time->count), time->count);
    is_spread_unknown_ = is_spread_unknown_ || !uncertainty_of(*time);
  }
  const bool drifts = verdict.rating == name_of(Stability::kNoSteadyState);
  // Except for a debug build, every cause of an unstable verdict already shows in lost_, few_samples_ or uncertainty_.
  const bool is_debug_build = verdict.rating == name_of(Stability::kUnstable) && !is_busy &&
                              known_within(*time).value_or(0) <= kTrustedWithin &&
                              record.binary.build_type != "Release";
  if ((drifts || is_debug_build) && unsteady_.empty() && !verdict.reasons.empty())
    unsteady_ = verdict.reasons.front().substr(0, verdict.reasons.front().find(" ("));
}

std::string TrustLine::line() const {
  if (rows_ == 0) return is_predicted_ ? std::string(kPredictedLine) : "";
  const double uncertainty = uncertainty_.value_or(0);
  std::string why;
  if (lost_ > 0) {
    why = fmt::format("{:.0f} % of the time lost {}", 100 * lost_, lost_to_);
  } else if (few_samples_) {
    why = fmt::format("only {}", counted(*few_samples_, "sample"));
  } else if (uncertainty > kTrustedWithin) {
    why = fmt::format("times are known to {}", plus_minus_text(uncertainty));
  } else if (!unsteady_.empty()) {
    return "! " + unsteady_;
  } else {
    return "";
  }
  if (is_spread_unknown_ && lost_ == 0) return fmt::format("! {}, so the spread is unknown", why);
  const std::string good = fmt::format(": accurate to about {:.0f} %", 100 * std::max(uncertainty, kTrustedWithin));
  if (rows_ == 1)
    return fmt::format("! {}{}", why, lost_ > 0 ? ": compare ratios, not times" : few_samples_ ? good : "");
  const double least = 1 + (lost_ > 0 ? 3 : 2) * std::max(uncertainty, kTrustedWithin);
  return fmt::format("! {}: ignore differences below {:.1f}x", why, std::max(least, 1.1));
}

}  // namespace laptime
