// Sums the launches of a trace.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "page/points.h"

namespace laptime {

TraceSums::TraceSums(const PagePoint& of) : point(&of), ledger(*of.record, *of.trace) {
  const StepTrace& trace = *of.trace;
  if (trace.steps.empty()) return;
  const StepTotals totals = totals_of(trace);
  traced = totals.step;
  step = of.time() != nullptr ? of.time()->median : traced;
  // The time of the pass `backward` does not include the forward before it, whose launches are in the trace too.
  if (of.time() != nullptr && of.record->config.text("pass") == "backward") {
    if (const TimeStats* const forward = time_of(*of.record, "forward")) step += forward->median;
  }
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
