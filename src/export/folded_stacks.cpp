// Stacks with their nanoseconds, one on each line, as flamegraph.pl reads them.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "export/step_slices.h"
#include "export/writers.h"

namespace laptime {
namespace {

// A name inside a stack: a semicolon would end it, a line break the line.
std::string frame(std::string_view name) {
  std::string text(name);
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c == ';' || c < ' '; }, ':');
  return text;
}

// Adds up equal stacks and keeps the order in which they first appear.
class Stacks {
 public:
  void add(const std::string& stack, int64_t nanoseconds) {
    const auto [known, is_new] = index_.emplace(stack, order_.size());
    if (is_new) order_.emplace_back(stack, 0);
    order_[known->second].second += nanoseconds;
  }
  std::string text() const {
    std::string lines;
    for (const auto& [stack, nanoseconds] : order_) lines += fmt::format("{} {}\n", stack, nanoseconds);
    return lines;
  }

 private:
  std::map<std::string, size_t> index_;
  std::vector<std::pair<std::string, int64_t>> order_;
};

}  // namespace

std::string folded_stacks(std::span<const TracedRecord> records, const ExportOptions& options) {
  const StepSlices timeline = slices_of(records.front(), options.steps);
  Stacks stacks;
  std::vector<std::pair<size_t, std::string>> open;  // the end of each open slice, and its stack
  int64_t launched = 0;
  for (size_t i = 0; i < timeline.slices.size(); ++i) {
    const Slice& slice = timeline.slices[i];
    if (slice.kind == Slice::Kind::kWarmup) continue;
    while (!open.empty() && open.back().first <= i) open.pop_back();
    const std::string stack = (open.empty() ? "" : open.back().second + ";") + frame(slice.name);
    if (slice.kind == Slice::Kind::kLaunch) {
      stacks.add(stack, slice.end - slice.begin);
      launched += slice.end - slice.begin;
    }
    open.emplace_back(i + slice.inside + 1, stack);
  }
  int64_t total = 0;
  for (const StepSpan& step : timeline.steps) total += step.end - step.begin;
  stacks.add("step;residue", total - launched);
  return stacks.text();
}

}  // namespace laptime
