// Sums the parts of the excess by phase, and leaves out what is small.
#include "report/first_steps.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "base/units.h"

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

std::string phase_text(const PhaseExcess& phase, double least) {
  std::vector<std::string> classes;
  for (const ClassShare& part : phase.classes) {
    if (part.seconds >= least) classes.push_back(fmt::format("{} {}", part.work_class, format_seconds(part.seconds)));
  }
  return fmt::format("{} {}{}", phase.phase, format_seconds(phase.seconds),
                     classes.empty() ? "" : fmt::format(" ({})", fmt::join(classes, ", ")));
}

}  // namespace

std::string first_steps_text(const Transient& transient) {
  const double excess = *transient.excess;
  const int64_t count = transient.steps.value_or(1);
  if (excess <= 0) return "first steps: none longer than later ones";
  std::vector<std::string> parts;
  double named = 0;
  for (const PhaseExcess& phase : by_phase(transient)) {
    if (phase.seconds < kSmall * excess) continue;
    parts.push_back(phase_text(phase, kSmall * excess));
    named += phase.seconds;
  }
  if (!parts.empty() && excess - named >= kSmall * excess)
    parts.push_back("elsewhere " + format_seconds(excess - named));
  std::string text = fmt::format("first {} {} longer", count == 1 ? "step" : fmt::format("{} steps together", count),
                                 format_seconds(excess));
  if (!parts.empty()) text += fmt::format(": {}", fmt::join(parts, ", "));
  if (!transient.page_faults) return text;
  if (*transient.page_faults >= kSmall * excess)
    text += fmt::format("; page faults explain {} of it", format_seconds(*transient.page_faults));
  if (excess - *transient.page_faults >= kSmall * excess)
    text += fmt::format("; unexplained: {}", format_seconds(excess - *transient.page_faults));
  return text;
}

bool varies_warmup(const Record& record) { return record.name.find("/warmup:") != std::string::npos; }

}  // namespace laptime
