// The idle share of a step, by the device's records or by the same step as a recording.
#include "report/profile/device_use.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "analysis/launch_sums.h"
#include "base/units.h"
#include "base/words.h"
#include "distribution/median.h"

namespace laptime {
namespace {

constexpr double kLaunchBound = 0.1;  // a step that idles for this share or more is called launch-bound

// Seconds in which the device has work. Without records: what the step takes as a recording.
std::optional<double> busy_of(const DeviceUse& device) {
  if (!device.busy.empty()) return median(device.busy);
  if (!device.recorded.empty() && device.usually_recorded == 0) return median(device.recorded);
  return std::nullopt;
}

std::string kernels_text(const StepTrace& trace) {
  if (trace.device.busy.empty()) return fmt::format("{} launches", trace.launch_count());
  std::string text = counted(trace.device.kernels, "kernel");
  if (trace.device.copies > 0) text += fmt::format(" and {}", counted(trace.device.copies, "memory operation"));
  return text;
}

std::string known_by(const DeviceUse& device) {
  if (!device.busy.empty())
    return fmt::format("by {} in {}, against the untraced step", device.records,
                       counted(device.busy.size(), "watched step"));
  return fmt::format(
      "by events: idle is what the step takes above the same step as a graph, in which no kernel waits for the host; "
      "no records of kernels, because {}",
      device.missing);
}

// What the launches need at least by the data sheet, of the step. Empty without a data sheet.
std::string datasheet_text(const StepTrace& trace) {
  if (!trace.datasheet_flops || !trace.datasheet_bandwidth || trace.untraced.empty()) return "";
  double floor = 0;
  for (size_t i = 0; i < trace.launch_count(); ++i)
    floor += least_seconds(trace.launch(i), trace.datasheet_flops, trace.datasheet_bandwidth);
  return fmt::format("by the data sheet ({}/s, {}B/s) the launches need at least {}, {:.0f} % of the untraced step",
                     format_flops(*trace.datasheet_flops), format_count(*trace.datasheet_bandwidth),
                     format_seconds(floor), 100 * floor / median(trace.untraced));
}

}  // namespace

std::vector<std::string> device_use_lines(const StepTrace& trace) {
  const DeviceUse& device = trace.device;
  std::vector<std::string> lines;
  if (std::string text = datasheet_text(trace); !text.empty()) lines.push_back(std::move(text));
  if (trace.untraced.empty() || (device.busy.empty() && device.recorded.empty())) return lines;
  const double step = median(trace.untraced);
  const std::optional<double> busy = busy_of(device);
  const std::string graph =
      device.recorded.empty() ? "" : fmt::format("in a graph {}", format_seconds(median(device.recorded)));
  if (!busy) {
    lines.push_back(fmt::format("steps ran from a graph, {} in one; how long the device idles is not known, because {}",
                                kernels_text(trace), device.missing));
    return lines;
  }
  const double idle = std::max(0.0, 1 - *busy / step);
  const std::string verdict = idle >= kLaunchBound ? "launch-bound" : "not launch-bound";
  const std::string after = device.usually_recorded != 0 ? "steps ran from a graph" : graph;
  lines.push_back(fmt::format("{}: {}, {:.0f} % idle{}{}", verdict, kernels_text(trace), 100 * idle,
                              after.empty() ? "" : "; ", after));
  lines.push_back("known " + known_by(device));
  return lines;
}

}  // namespace laptime
