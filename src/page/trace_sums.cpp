// Sums the launches of a trace.
#include "page/trace_sums.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

namespace laptime {

TraceSums::TraceSums(const PagePoint& of) : point(&of), ledger(*of.trace) {
  const StepTrace& trace = *of.trace;
  if (trace.steps.empty()) return;
  const StepTotals totals = totals_of(trace);
  traced = totals.step;
  step = of.time() != nullptr ? of.time()->median : traced;
  const double scale = traced > 0 ? step / traced : 1;
  residue = std::max(0.0, scale * totals.residue());

  std::map<std::string, KernelOfPhase> named;
  std::vector<std::string> phases;
  std::map<std::pair<std::string, std::string>, double> class_seconds;
  const LaunchKey key = [&](const TraceLaunch& launch) {
    std::string text = fmt::format("{}\n{}\n{}:{}", launch.phase, launch.work_class, launch.op, launch.kernel);
    if (std::ranges::find(phases, launch.phase) == phases.end()) phases.emplace_back(launch.phase);
    named.try_emplace(text, KernelOfPhase{.phase = std::string(launch.phase),
                                          .work_class = std::string(launch.work_class),
                                          .kernel = fmt::format("{}:{}", launch.op, launch.kernel),
                                          .bound = {}});
    return text;
  };
  for (const LaunchSum& sum : sum_launches(trace, key)) {
    KernelOfPhase& kernel = kernels.emplace_back(named.at(sum.key));
    kernel.calls = sum.calls;
    kernel.seconds = scale * sum.total;
    kernel.floor = sum.floor;
    kernel.bound = sum.bound();
    class_seconds[{kernel.phase, kernel.work_class}] += kernel.seconds;
  }
  const auto order = [&](const KernelOfPhase& one) {
    return std::tuple(std::ranges::find(phases, one.phase) - phases.begin(),
                      -class_seconds[{one.phase, one.work_class}], one.work_class, -one.seconds);
  };
  std::ranges::stable_sort(kernels, {}, order);
  dots = roofline_dots(trace);
  for (LaunchSum& dot : dots) dot.total *= scale;
}

std::vector<std::pair<std::string, double>> TraceSums::classes() const {
  using NamedSeconds = std::pair<std::string, double>;
  std::vector<NamedSeconds> classes;
  for (const KernelOfPhase& kernel : kernels) {
    auto found = std::ranges::find(classes, kernel.work_class, &NamedSeconds::first);
    if (found == classes.end()) found = classes.insert(found, {kernel.work_class, 0});
    found->second += kernel.seconds;
  }
  std::ranges::stable_sort(classes, std::greater(), &NamedSeconds::second);
  return classes;
}

}  // namespace laptime
