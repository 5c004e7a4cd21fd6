// Formats tables of comparisons.
#include "report/verification_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "table/text.h"

namespace laptime {
namespace {

std::string line(const Comparison& comparison, size_t width) {
  const char* const verdict = comparison.skipped ? "skip" : comparison.pass ? "ok" : "FAIL";
  std::string text = fmt::format("  {:<4}  {:<{}}", verdict, comparison.what, width);
  if (!comparison.skipped)
    text += fmt::format("  distance {:<9.3g}  allowed {:<9.3g}", comparison.distance, comparison.allowed);
  if (!comparison.note.empty()) text += fmt::format("  {}", comparison.note);
  return without_trailing_spaces(std::move(text)) + "\n";
}

// The first comparison beyond its limit or, if there is none, the one nearest to its limit; null if all were skipped.
const Comparison* worst(const VerifiedGroup& group) {
  const auto share_of_limit = [](const Comparison& one) {
    const bool is_within = one.distance <= one.allowed && one.allowed > 0;
    return is_within ? one.distance / one.allowed : one.pass ? 0 : 2;
  };
  const Comparison* found = nullptr;
  for (const Comparison& one : group.comparisons) {
    if (!one.skipped && (found == nullptr || share_of_limit(one) > share_of_limit(*found))) found = &one;
  }
  return found;
}

std::string nearest_text(const VerifiedGroup& group) {
  const Comparison* const nearest = worst(group);
  if (nearest == nullptr) return "";
  if (nearest->allowed > 0)
    return fmt::format("{:.3g} of {:.3g} ({})", nearest->distance, nearest->allowed, nearest->what);
  return nearest->pass ? "all equal" : nearest->what;
}

int64_t count(const VerifiedGroup& group, bool Comparison::*what, bool value) {
  return std::ranges::count(group.comparisons, value, what);
}

std::string summary(const VerifiedFile& file) {
  std::vector<Cells> rows{{"", "compared", "failed", "skipped", "closest to its limit"}};
  for (const VerifiedGroup& group : file.groups) {
    Cells& row = rows.emplace_back(Cells{group.name});
    for (const int64_t number : {count(group, &Comparison::skipped, false), count(group, &Comparison::pass, false),
                                 count(group, &Comparison::skipped, true)})
      row.push_back(std::to_string(number));
    row.push_back(nearest_text(group));
  }
  return aligned(rows, {false, true, true, true, false}, 2);
}

std::string failures_text(const VerifiedFile& file) {
  std::string text;
  for (const VerifiedGroup& group : file.groups) {
    for (const Comparison& comparison : group.comparisons) {
      if (!comparison.pass) text += fmt::format("  {}:{}", group.name, line(comparison, 0));
    }
  }
  return text;
}

}  // namespace

std::string print(const VerifiedFile& file) {
  constexpr size_t kWidestName = 52;  // a longer name shifts the numbers on its line
  std::string text = fmt::format("{}\non {}\n", file.model, file.machine);
  for (const VerifiedGroup& group : file.groups) {
    size_t width = 0;
    for (const Comparison& comparison : group.comparisons) width = std::max(width, comparison.what.size());
    text += fmt::format("\n{}\n", group.name);
    for (const Comparison& comparison : group.comparisons) text += line(comparison, std::min(width, kWidestName));
  }
  text += fmt::format("\nsummary\n{}", summary(file));
  if (const std::string failures = failures_text(file); !failures.empty()) text += fmt::format("failed\n{}", failures);
  if (!file.refused.empty()) text += fmt::format("not run: {}\n", file.refused);
  return text + (file.pass() ? "passed\n" : "NOT PASSED\n");
}

std::string summary_line(const VerifiedFile& file) {
  int64_t compared = 0;
  int64_t skipped = 0;
  for (const VerifiedGroup& group : file.groups) {
    compared += count(group, &Comparison::skipped, false);
    skipped += count(group, &Comparison::skipped, true);
  }
  std::string text = fmt::format("{}  {} ({})", file.pass() ? "passed" : "NOT PASSED",
                                 file.model.substr(0, file.model.find(": ")), file.machine);
  if (compared + skipped > 0) text += fmt::format(": {} compared, {} skipped", compared, skipped);
  if (!file.refused.empty()) text += fmt::format("; not run: {}", file.refused);
  return text + "\n" + failures_text(file);
}

}  // namespace laptime
