// Tables of comparisons.
#include "report/verification_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace laptime {
namespace {

constexpr size_t kMostColumns = 52;  // of a name before the numbers move

size_t widest(const std::vector<Comparison>& comparisons) {
  size_t width = 0;
  for (const Comparison& comparison : comparisons) width = std::max(width, comparison.what.size());
  return std::min(width, kMostColumns);
}

const char* verdict(const Comparison& comparison) {
  return comparison.skipped ? "skip" : comparison.pass ? "ok" : "FAIL";
}

std::string line(const Comparison& comparison, size_t width) {
  std::string text = fmt::format("  {:<4}  {:<{}}", verdict(comparison), comparison.what, width);
  if (!comparison.skipped)
    text += fmt::format("  distance {:<9.3g}  allowed {:<9.3g}", comparison.distance, comparison.allowed);
  if (!comparison.note.empty()) text += fmt::format("  {}", comparison.note);
  return text.erase(text.find_last_not_of(' ') + 1) + "\n";
}

// Of the comparisons that count, the one nearest to its limit, or furthest beyond it.
const Comparison* worst(const VerifiedGroup& group) {
  const Comparison* found = nullptr;
  double most = -1;
  for (const Comparison& comparison : group.comparisons) {
    if (comparison.skipped) continue;
    const double share = comparison.distance <= comparison.allowed && comparison.allowed > 0
                             ? comparison.distance / comparison.allowed
                         : comparison.pass ? 0
                                           : 2;
    if (share <= most) continue;
    most = share;
    found = &comparison;
  }
  return found;
}

std::string summary(const VerifiedFile& file) {
  size_t width = 0;
  for (const VerifiedGroup& group : file.groups) width = std::max(width, group.name.size());
  std::string text =
      fmt::format("  {:<{}}  {:>8}  {:>6}  {:>7}  nearest to its limit\n", "", width, "compared", "failed", "skipped");
  for (const VerifiedGroup& group : file.groups) {
    int64_t skipped = 0;
    int64_t failed = 0;
    for (const Comparison& comparison : group.comparisons) {
      skipped += comparison.skipped ? 1 : 0;
      failed += comparison.pass ? 0 : 1;
    }
    text += fmt::format("  {:<{}}  {:>8}  {:>6}  {:>7}", group.name, width,
                        static_cast<int64_t>(group.comparisons.size()) - skipped, failed, skipped);
    if (const Comparison* nearest = worst(group); nearest != nullptr) {
      text += nearest->allowed > 0
                  ? fmt::format("  {:.3g} of {:.3g} ({})", nearest->distance, nearest->allowed, nearest->what)
              : nearest->pass ? std::string("  all equal")
                              : fmt::format("  {}", nearest->what);
    }
    text += '\n';
  }
  return text;
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

}  // namespace laptime
