// Sums the parts of the excess by phase, and leaves out what is small.
#include "report/first_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/units.h"
#include "base/words.h"

namespace laptime {
namespace {

constexpr double kSmall = 0.05;  // of the excess: smaller parts are not named

struct PhaseExcess {
  std::string phase;
  double seconds = 0;
  std::vector<ClassShare> classes;
};

bool is_larger(const ClassShare& a, const ClassShare& b) { return a.seconds > b.seconds; }

// The largest phase first, and in each the largest class first.
std::vector<PhaseExcess> by_phase(const Transient& transient) {
  std::vector<PhaseExcess> phases;
  for (const ClassShare& part : transient.parts) {
    auto found = std::find_if(phases.begin(), phases.end(), [&](const auto& one) { return one.phase == part.phase; });
    if (found == phases.end()) found = phases.insert(phases.end(), {part.phase, 0, {}});
    found->seconds += part.seconds;
    if (!part.work_class.empty()) found->classes.push_back(part);
  }
  for (PhaseExcess& phase : phases) std::stable_sort(phase.classes.begin(), phase.classes.end(), is_larger);
  std::stable_sort(phases.begin(), phases.end(),
                   [](const PhaseExcess& a, const PhaseExcess& b) { return a.seconds > b.seconds; });
  return phases;
}

// "12.3 ms", or "12.3 ms shorter" of a negative number.
std::string excess_text(double seconds) {
  return seconds >= 0 ? format_seconds(seconds) : format_seconds(-seconds) + " shorter";
}

std::string phase_text(const PhaseExcess& phase, double least) {
  std::vector<std::string> classes;
  for (const ClassShare& part : phase.classes) {
    if (part.seconds >= least) classes.push_back(fmt::format("{} {}", part.work_class, format_seconds(part.seconds)));
  }
  return fmt::format("{} {}{}", phase.phase, excess_text(phase.seconds),
                     classes.empty() ? "" : fmt::format(" ({})", joined(classes, ", ")));
}

// Whether a later step took as long as the slowest of the first ones, so that these are no slower than steps at large.
bool later_steps_are_as_long(const Record& record) {
  const TimeStats* const time = record.main_time();
  if (time == nullptr || record.stopping.steps_per_sample.value_or(1) > 1) return false;
  std::vector<double> steps = record.transient.warmup;
  steps.insert(steps.end(), time->samples.begin(), time->samples.end());
  const int64_t count = record.transient.steps.value_or(0);
  if (count <= 0 || count >= std::ssize(steps)) return false;
  const auto later = steps.begin() + count;
  return *std::max_element(steps.begin(), later) <= *std::max_element(later, steps.end());
}

}  // namespace

std::string first_steps_text(const Record& record) {
  const Transient& transient = record.transient;
  const double excess = *transient.excess;
  const int64_t count = transient.steps.value_or(1);
  if (!std::isfinite(excess)) return "first steps: not known how much longer they took";
  if (excess <= 0) return "first steps: none longer than later ones";
  std::vector<std::string> parts;
  double named = 0;
  for (const PhaseExcess& phase : by_phase(transient)) {
    if (std::abs(phase.seconds) < kSmall * excess) continue;
    parts.push_back(phase_text(phase, kSmall * excess));
    named += phase.seconds;
  }
  if (!parts.empty() && std::abs(excess - named) >= kSmall * excess)
    parts.push_back("elsewhere " + excess_text(excess - named));
  std::string text = fmt::format("first {} {} longer", count == 1 ? "step" : fmt::format("{} steps together", count),
                                 format_seconds(excess));
  if (!parts.empty()) text += fmt::format("; where: {}", joined(parts, ", "));
  if (later_steps_are_as_long(record)) return text + "; a later step took as long, so this is noise";
  if (!transient.page_faults) return text;
  const double unknown = excess - *transient.page_faults;
  if (*transient.page_faults < kSmall * excess) return text + "; why: not known";
  text += fmt::format("; why: page faults {}", format_seconds(*transient.page_faults));
  return unknown < kSmall * excess ? text : fmt::format("{}, not known for {}", text, format_seconds(unknown));
}

}  // namespace laptime
