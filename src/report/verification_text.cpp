// Tables of comparisons.
#include "report/verification_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "table/aligned.h"
#include "table/text.h"

namespace laptime {
namespace {

constexpr size_t kWidestName = 52;  // a longer name moves the numbers of its own line

size_t widest(const std::vector<Comparison>& comparisons) {
  size_t width = 0;
  for (const Comparison& comparison : comparisons) width = std::max(width, comparison.what.size());
  return std::min(width, kWidestName);
}

const char* verdict(const Comparison& comparison) {
  return comparison.skipped ? "skip" : comparison.pass ? "ok" : "FAIL";
}

std::string line(const Comparison& comparison, size_t width) {
  std::string text = fmt::format("  {:<4}  {:<{}}", verdict(comparison), comparison.what, width);
  if (!comparison.skipped)
    text += fmt::format("  distance {:<9.3g}  allowed {:<9.3g}", comparison.distance, comparison.allowed);
  if (!comparison.note.empty()) text += fmt::format("  {}", comparison.note);
  return without_trailing_spaces(std::move(text)) + "\n";
}

// The distance as a fraction of what is allowed; 2 for a failure.
double share_of_limit(const Comparison& comparison) {
  if (comparison.distance <= comparison.allowed && comparison.allowed > 0)
    return comparison.distance / comparison.allowed;
  return comparison.pass ? 0 : 2;
}

// Of the comparisons that count, the one nearest to its limit, or beyond it.
const Comparison* worst(const VerifiedGroup& group) {
  const Comparison* found = nullptr;
  for (const Comparison& comparison : group.comparisons) {
    if (comparison.skipped) continue;
    if (found == nullptr || share_of_limit(comparison) > share_of_limit(*found)) found = &comparison;
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

std::string summary(const VerifiedFile& file) {
  std::vector<Cells> rows{{"", "compared", "failed", "skipped", "nearest to its limit"}};
  for (const VerifiedGroup& group : file.groups) {
    std::array<int64_t, 3> counts{};  // compared, failed, skipped
    for (const Comparison& comparison : group.comparisons) {
      counts[0] += comparison.skipped ? 0 : 1;
      counts[1] += comparison.pass ? 0 : 1;
      counts[2] += comparison.skipped ? 1 : 0;
    }
    Cells& row = rows.emplace_back(Cells{group.name});
    for (const int64_t count : counts) row.push_back(std::to_string(count));
    row.push_back(nearest_text(group));
  }
  return aligned(rows, {false, true, true, true, false}, 2);
}

}  // namespace

std::string print(const VerifiedFile& file) {
  std::string text = fmt::format("{}\non {}\n", file.model, file.machine);
  std::string failures;
  for (const VerifiedGroup& group : file.groups) {
    const size_t width = widest(group.comparisons);
    text += fmt::format("\n{}\n", group.name);
    for (const Comparison& comparison : group.comparisons) {
      text += line(comparison, width);
      if (!comparison.pass) failures += fmt::format("  {}:{}", group.name, line(comparison, 0));
    }
  }
  text += fmt::format("\nsummary\n{}", summary(file));
  if (!failures.empty()) text += fmt::format("failed\n{}", failures);
  if (!file.refused.empty()) text += fmt::format("not run: {}\n", file.refused);
  return text + (file.pass() ? "passed\n" : "NOT PASSED\n");
}

std::string summary_line(const VerifiedFile& file) {
  size_t compared = 0;
  size_t skipped = 0;
  std::string failures;
  for (const VerifiedGroup& group : file.groups) {
    for (const Comparison& comparison : group.comparisons) {
      ++(comparison.skipped ? skipped : compared);
      if (!comparison.pass) failures += fmt::format("  {}:{}", group.name, line(comparison, 0));
    }
  }
  std::string text = fmt::format("{}  {} ({})", file.pass() ? "passed" : "NOT PASSED",
                                 file.model.substr(0, file.model.find(": ")), file.machine);
  if (compared + skipped > 0) text += fmt::format(": {} compared, {} skipped", compared, skipped);
  if (!file.refused.empty()) text += fmt::format("; not run: {}", file.refused);
  return text + "\n" + failures;
}

}  // namespace laptime
