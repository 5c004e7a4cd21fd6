// Sums the times of launches over the exported steps: by kernel or range as in `nsys stats`, and by stack as
// flamegraph.pl expects.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "distribution/median.h"
#include "distribution/moments.h"
#include "export/formats.h"
#include "export/traced_step.h"
#include "table/text.h"

namespace laptime {
namespace {

// Sums values with the same key, and keeps the order in which keys first appear.
template <class Value>
class InOrder {
 public:
  Value& operator[](const std::string& key) {
    const auto [known, is_new] = index_.emplace(key, rows_.size());
    if (is_new) rows_.emplace_back(key, Value());
    return rows_[known->second].second;
  }
  std::vector<std::pair<std::string, Value>>& rows() { return rows_; }

 private:
  std::map<std::string, size_t> index_;
  std::vector<std::pair<std::string, Value>> rows_;
};

using Instances = std::vector<double>;  // nanoseconds

double total(const Instances& instances) { return std::accumulate(instances.begin(), instances.end(), 0.0); }

// "Total,Instances,Avg,Med,Min,Max,StdDev", in nanoseconds.
std::string figures_of(Instances instances) {
  std::ranges::sort(instances);
  const Moments moments = moments_of_sorted(instances);
  return fmt::format("{:.0f},{},{:.1f},{:.1f},{:.0f},{:.0f},{:.1f}", moments.total, instances.size(), moments.mean,
                     median_of_sorted(instances), instances.front(), instances.back(), moments.std_sample.value_or(0));
}

// A name as a frame of a stack; semicolons, which separate frames, become colons.
std::string frame(std::string_view name) {
  std::string text = printable(name);
  std::ranges::replace(text, ';', ':');
  return text;
}

}  // namespace

std::string nsys(std::span<const TracedRecord> records, const ExportOptions& options) {
  const TracedRecord& traced = records.front();
  const bool ranges = options.report == NsysReport::kRanges;
  InOrder<Instances> by_name;
  double sum = 0;
  for (const Slice& slice : slices_of(traced, options.steps).slices) {
    const bool is_launch = slice.kind == Slice::Kind::kLaunch;
    if (is_launch == ranges) continue;
    // nsys begins the name of a range in the default domain with a colon.
    const std::string name = is_launch ? fmt::format("{}:{}", slice.name, traced.trace->launch(slice.launch).kernel)
                                       : fmt::format(":{}", slice.name);
    by_name[name].push_back(static_cast<double>(slice.end - slice.begin));
    sum += by_name[name].back();
  }
  std::ranges::stable_sort(by_name.rows(), std::greater(), [](const auto& row) { return total(row.second); });
  std::string text =
      fmt::format("Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),{}\n",
                  ranges ? "Style,Range" : "Name");
  for (const auto& [name, instances] : by_name.rows()) {
    text += fmt::format("{:.1f},{},{}{}\n", sum > 0 ? 100 * total(instances) / sum : 0, figures_of(instances),
                        ranges ? "PushPop," : "", csv_text(name));
  }
  return text;
}

std::string folded_stacks(std::span<const TracedRecord> records, const ExportOptions& options) {
  const StepSlices timeline = slices_of(records.front(), options.steps);
  InOrder<int64_t> stacks;
  std::vector<std::pair<size_t, std::string>> open;  // for each open slice, the index after its end, and its stack
  int64_t residue = 0;
  for (const StepSpan& step : timeline.steps) residue += step.end - step.begin;
  for (size_t i = 0; i < timeline.slices.size(); ++i) {
    const Slice& slice = timeline.slices[i];
    if (slice.kind == Slice::Kind::kWarmup) continue;
    while (!open.empty() && open.back().first <= i) open.pop_back();
    const std::string stack = (open.empty() ? "" : open.back().second + ";") + frame(slice.name);
    if (slice.kind == Slice::Kind::kLaunch) {
      stacks[stack] += slice.end - slice.begin;
      residue -= slice.end - slice.begin;
    }
    open.emplace_back(i + slice.inside + 1, stack);
  }
  stacks["step;residue"] += residue;
  std::string lines;
  for (const auto& [stack, nanoseconds] : stacks.rows()) lines += fmt::format("{} {}\n", stack, nanoseconds);
  return lines;
}

}  // namespace laptime
