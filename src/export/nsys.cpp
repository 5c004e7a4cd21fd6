// Summary tables with the columns of `nsys stats`.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <vector>

#include "distribution/median.h"
#include "distribution/moments.h"
#include "export/step_slices.h"
#include "export/writers.h"

namespace laptime {
namespace {

struct Instances {
  std::string name;
  std::vector<double> nanoseconds;
  double total() const { return std::accumulate(nanoseconds.begin(), nanoseconds.end(), 0.0); }
};

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string cell = "\"";
  for (const char c : text) cell += c == '"' ? std::string("\"\"") : std::string(1, c);
  return cell + "\"";
}

// "Total,Instances,Avg,Med,Min,Max,StdDev", in nanoseconds.
std::string figures_of(Instances row) {
  std::sort(row.nanoseconds.begin(), row.nanoseconds.end());
  const Moments moments = moments_of_sorted(row.nanoseconds);
  return fmt::format("{:.0f},{},{:.1f},{:.1f},{:.0f},{:.0f},{:.1f}", moments.total, row.nanoseconds.size(),
                     moments.mean, median_of_sorted(row.nanoseconds), row.nanoseconds.front(), row.nanoseconds.back(),
                     moments.std_sample.value_or(0));
}

// The names of kernels are those of op and kernel; a range of the default domain starts with a colon.
std::vector<Instances> rows_of(const TracedRecord& traced, const StepSlices& timeline, NsysReport report) {
  std::map<std::string, Instances> rows;
  for (const Slice& slice : timeline.slices) {
    const bool is_launch = slice.kind == Slice::Kind::kLaunch;
    if (is_launch != (report == NsysReport::kKernels)) continue;
    const std::string name = is_launch ? fmt::format("{}:{}", slice.name, traced.trace->launch(slice.launch).kernel)
                                       : fmt::format(":{}", slice.name);
    Instances& row = rows[name];
    row.name = name;
    row.nanoseconds.push_back(static_cast<double>(slice.end - slice.begin));
  }
  std::vector<Instances> sorted;
  for (auto& [name, row] : rows) sorted.push_back(std::move(row));
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Instances& a, const Instances& b) { return a.total() > b.total(); });
  return sorted;
}

}  // namespace

std::string nsys(std::span<const TracedRecord> records, const ExportOptions& options) {
  const TracedRecord& traced = records.front();
  const std::vector<Instances> rows = rows_of(traced, slices_of(traced, options.steps), options.report);
  double sum = 0;
  for (const Instances& row : rows) sum += row.total();
  const bool ranges = options.report == NsysReport::kRanges;
  std::string text =
      fmt::format("Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),{}\n",
                  ranges ? "Style,Range" : "Name");
  for (const Instances& row : rows) {
    text += fmt::format("{:.1f},{},{}{}\n", sum > 0 ? 100 * row.total() / sum : 0, figures_of(row),
                        ranges ? "PushPop," : "", csv_cell(row.name));
  }
  return text;
}

}  // namespace laptime
