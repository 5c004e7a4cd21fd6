// Sums the launches of a trace.
#include "page/trace_sums.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace laptime {
namespace {

// Seconds of the launches of a trace, from the medians of its point. The time of the pass `backward` does not include
// the forward before it, whose launches are in the trace too.
double median_of_launches(const Record& record, const TimeStats& pass) {
  const TimeStats* const forward = record.config.text("pass") == "backward" ? time_of(record, "forward") : nullptr;
  return pass.median + (forward == nullptr ? 0 : forward->median);
}

}  // namespace

TraceSums::TraceSums(const PagePoint& of) : point(&of), ledger(*of.record, *of.trace) {
  const StepTrace& trace = *of.trace;
  if (trace.steps.empty()) return;
  const StepTotals totals = totals_of(trace);
  traced = totals.step;
  step = of.time() != nullptr ? median_of_launches(*of.record, *of.time()) : traced;
  const double scale = traced > 0 ? step / traced : 1;
  residue = std::max(0.0, scale * totals.residue());
  kernels = sum_launches(trace, [](const TraceLaunch& launch) {
    return fmt::format("{}\n{}\n{}", launch.phase, launch.work_class, kernel_of(launch));
  });
  classes = largest_first(sum_launches(trace, class_of));
  dots = largest_first(sum_launches(trace, [](const TraceLaunch& l) { return fmt::format("{} {}", l.phase, l.op); }));
  std::erase_if(dots, [](const LaunchSum& sum) { return sum.flops <= 0 || sum.bytes <= 0 || sum.total <= 0; });
  for (std::vector<LaunchSum>* const sums : {&kernels, &classes, &dots}) {
    for (LaunchSum& sum : *sums) sum.total *= scale;
  }

  std::map<std::string_view, size_t> phases;  // each phase's position in the step
  std::map<std::pair<std::string_view, std::string_view>, double> class_seconds;
  for (LaunchSum& kernel : kernels) {
    kernel.key = kernel_of(kernel.first);
    phases.emplace(kernel.first.phase, phases.size());
    class_seconds[{kernel.first.phase, kernel.first.work_class}] += kernel.total;
  }
  std::ranges::stable_sort(kernels, {}, [&](const LaunchSum& kernel) {
    const TraceLaunch& launch = kernel.first;
    return std::tuple(phases[launch.phase], -class_seconds[{launch.phase, launch.work_class}], launch.work_class,
                      -kernel.total);
  });
}

}  // namespace laptime
