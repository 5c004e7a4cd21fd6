// Draws the flame graph and the roofline plot.
#include "report/profile/profile_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/launch_sums.h"
#include "base/units.h"
#include "record/scope_path.h"
#include "report/palette.h"
#include "report/profile/views.h"
#include "report/svg.h"

namespace laptime {
namespace {

// Pixels.
constexpr double kPictureWidth = 1200;
constexpr double kPictureMargin = 20;
constexpr double kRooflineLeft = 90;  // of the roofline plot
constexpr double kPanelHead = 74;
constexpr double kBoxHeight = 22;
constexpr double kRooflineHeight = 420;
constexpr double kPanelFoot = 56;
constexpr double kLabelSize = 11;
constexpr double kLeastBox = 0.7;  // narrower boxes are not drawn

constexpr std::string_view kTextColor = "#444444";
constexpr std::string_view kGridColor = "#dddddd";

constexpr std::string_view kScopeColor = "#eeeeee";
constexpr std::string_view kIdleColor = "#ffffff";

// A box of the flame graph: a phase, a scope or an op, with everything inside it.
struct Box {
  std::string name;
  std::string_view work_class;  // of an op
  double seconds = 0;
  std::vector<std::unique_ptr<Box>> inside;

  Box& enter(const std::string& child) {
    for (const auto& box : inside) {
      if (box->name == child) return *box;
    }
    inside.push_back(std::make_unique<Box>());
    inside.back()->name = child;
    return *inside.back();
  }
  int depth() const {
    int deepest = 0;
    for (const auto& box : inside) deepest = std::max(deepest, box->depth());
    return deepest + 1;
  }
};

Box boxes_of(const StepTrace& trace) {
  Box step;
  step.name = "step";
  step.seconds = totals_of(trace).step;
  for (size_t i = 0; i < trace.launch_count(); ++i) {
    const TraceLaunch launch = trace.launch(i);
    const double seconds = trace.mean_seconds(i);
    Box* box = &step.enter(std::string(launch.phase));
    box->seconds += seconds;
    for (const std::string_view module : modules_of(launch.scope)) {
      box = &box->enter(std::string(module));
      box->seconds += seconds;
    }
    box = &box->enter(std::string(launch.op));
    box->work_class = launch.work_class;
    box->seconds += seconds;
  }
  return step;
}

void draw(Svg& svg, const Box& box, double x, double y, double pixels_per_second, double step) {
  const double width = box.seconds * pixels_per_second;
  if (width < kLeastBox) return;
  const std::string tooltip =
      fmt::format("{}: {}, {:.2f} % of the step", box.name, format_seconds(box.seconds), 100 * box.seconds / step);
  svg.rect({x, y}, std::max(width - 0.5, kLeastBox), kBoxHeight - 1,
           box.inside.empty() ? look_of_class(box.work_class).color : kScopeColor, tooltip);
  constexpr double kLeastText = 24;
  if (width > kLeastText)
    svg.text({x + 3, y + kBoxHeight - 7}, svg_shortened(box.name, kLabelSize, width - 6), {.size = kLabelSize});
  double at = x;
  for (const auto& child : box.inside) {
    draw(svg, *child, at, y + kBoxHeight, pixels_per_second, step);
    at += child->seconds * pixels_per_second;
  }
}

// Axes in powers of ten.
class LogAxis {
 public:
  LogAxis(double low, double high, double from, double to)
      : low_(std::floor(std::log10(low))), high_(std::ceil(std::log10(high))), from_(from), to_(to) {
    if (high_ <= low_) high_ = low_ + 1;
  }
  double at(double value) const { return from_ + (std::log10(value) - low_) / (high_ - low_) * (to_ - from_); }
  int first() const { return static_cast<int>(low_); }
  int last() const { return static_cast<int>(high_); }

 private:
  double low_, high_, from_, to_;
};

void draw_roofline(Svg& svg, const StepTrace& trace, double top) {
  const std::vector<RooflineDot> dots = roofline_dots(trace);
  if (dots.empty() || !trace.peak_flops || !trace.bandwidth) {
    svg.text({kPictureMargin, top + 20}, "no roofline: this device's peak and bandwidth are not measured",
             {.fill = kTextColor});
    return;
  }
  double low_x = 1;
  double high_x = 1;
  double low_y = *trace.peak_flops;
  double high_y = *trace.peak_flops;
  for (const RooflineDot& dot : dots) {
    low_x = std::min(low_x, dot.intensity);
    high_x = std::max(high_x, dot.intensity);
    low_y = std::min(low_y, dot.rate);
    high_y = std::max(high_y, dot.rate);
  }
  high_x = std::max(high_x, 4 * *trace.peak_flops / *trace.bandwidth);
  const double bottom = top + kRooflineHeight - 50;
  const LogAxis x(low_x, high_x, kRooflineLeft, kPictureWidth - kPictureMargin);
  const LogAxis y(low_y, high_y, bottom, top + 10);
  for (int power = x.first(); power <= x.last(); ++power) {
    const double at = x.at(std::pow(10.0, power));
    svg.line({at, top + 10}, {at, bottom}, kGridColor);
    svg.text({at, bottom + 16}, fmt::format("{:g}", std::pow(10.0, power)), {.size = kLabelSize, .anchor = "middle"});
  }
  for (int power = y.first(); power <= y.last(); ++power) {
    const double at = y.at(std::pow(10.0, power));
    svg.line({kRooflineLeft, at}, {kPictureWidth - kPictureMargin, at}, kGridColor);
    svg.text({kRooflineLeft - 6, at + 4}, format_flops(std::pow(10.0, power)) + "/s",
             {.size = kLabelSize, .anchor = "end"});
  }
  const double ridge = *trace.peak_flops / *trace.bandwidth;
  const double left = std::max(std::pow(10.0, x.first()), std::pow(10.0, y.first()) / *trace.bandwidth);
  svg.line({x.at(left), y.at(left * *trace.bandwidth)}, {x.at(ridge), y.at(*trace.peak_flops)}, kTextColor, 2);
  svg.line({x.at(ridge), y.at(*trace.peak_flops)}, {kPictureWidth - kPictureMargin, y.at(*trace.peak_flops)},
           kTextColor, 2);
  svg.text({kPictureWidth - kPictureMargin - 4, y.at(*trace.peak_flops) - 6},
           fmt::format("{} of products, {}/s", is_measured(trace) ? "measured peak" : "peak",
                       format_flops(*trace.peak_flops)),
           {.size = kLabelSize, .anchor = "end"});
  const double middle = std::sqrt(left * ridge);
  svg.text(
      {x.at(middle) + 10, y.at(middle * *trace.bandwidth) + 14},
      fmt::format("{}memory bandwidth, {}B/s", is_measured(trace) ? "measured " : "", format_count(*trace.bandwidth)),
      {.size = kLabelSize});
  svg.text({(kRooflineLeft + kPictureWidth) / 2, bottom + 34}, "FLOPs for each byte that must move",
           {.size = kLabelSize, .anchor = "middle"});
  constexpr size_t kNamed = 8;
  constexpr double kLabelWidth = 180;  // of a long one
  const double longest = dots.front().seconds;
  for (size_t i = dots.size(); i-- > 0;) {
    const RooflineDot& dot = dots[i];
    svg.circle({x.at(dot.intensity), y.at(dot.rate)}, 3 + 11 * std::sqrt(dot.seconds / longest),
               look_of_class(dot.work_class).color,
               fmt::format("{}: {} per step, {}/s at {:.2f} FLOP/byte", dot.name(), format_seconds(dot.seconds),
                           format_flops(dot.rate), dot.intensity));
  }
  std::vector<SvgPoint> labels;
  const auto is_free = [&](SvgPoint at) {
    return std::none_of(labels.begin(), labels.end(), [&](SvgPoint other) {
      return std::fabs(other.y - at.y) < kLabelSize && std::fabs(other.x - at.x) < kLabelWidth;
    });
  };
  double whole = 0;
  for (const RooflineDot& dot : dots) whole += dot.seconds;
  constexpr double kWorthAName = 0.01;  // of the time of all dots
  constexpr double kGap = 16;           // from the centre of a dot
  for (size_t i = 0; i < std::min(kNamed, dots.size()) && dots[i].seconds >= kWorthAName * whole; ++i) {
    const SvgPoint dot{x.at(dots[i].intensity), y.at(dots[i].rate)};
    const double width = svg_text_width(dots[i].name(), kLabelSize);
    const bool fits_right = dot.x + kGap + width <= kPictureWidth - kPictureMargin;
    const SvgPoint beside{fits_right ? dot.x + kGap : dot.x - kGap - width, dot.y + 4};
    SvgPoint at = beside;
    while (!is_free(at)) at.y += kLabelSize + 2;
    labels.push_back(at);
    if (at.y > beside.y) svg.line(dot, {fits_right ? at.x - 2 : at.x + width + 2, at.y - 4}, kGridColor);
    svg.text(at, dots[i].name(), {.size = kLabelSize});
  }
}

void draw_legend(Svg& svg, double y) {
  double x = kPictureMargin;
  for (const NamedLook& one : class_looks()) {
    svg.rect({x, y - 10}, 12, 12, one.look.color);
    svg.text({x + 17, y}, one.name, {.size = kLabelSize});
    x += 34 + svg_text_width(one.name, kLabelSize);
  }
}

}  // namespace

std::string profile_svg(std::span<const TracePanel> panels) {
  std::vector<Box> steps;
  double height = 0;
  for (const TracePanel& panel : panels) {
    steps.push_back(boxes_of(*panel.trace));
    height += kPanelHead + kBoxHeight * steps.back().depth() + kRooflineHeight + kPanelFoot;
  }
  Svg svg(kPictureWidth, std::max(height, 1.0), "profile of a training step",
          "Flame graphs of phases, scopes and ops by their time, and ops under the roofline of the machine");
  double top = 0;
  for (size_t i = 0; i < panels.size(); ++i) {
    const Box& step = steps[i];
    svg.text({kPictureMargin, top + 24}, panels[i].title, {.size = 16, .bold = true});
    svg.text({kPictureMargin, top + 44}, svg_shortened(panels[i].subtitle, 12, kPictureWidth - 2 * kPictureMargin),
             {.fill = kTextColor});
    draw_legend(svg, top + 66);
    const double plot = top + kPanelHead;
    svg.rect({kPictureMargin, plot}, kPictureWidth - 2 * kPictureMargin, kBoxHeight - 1, kIdleColor);
    draw(svg, step, kPictureMargin, plot, (kPictureWidth - 2 * kPictureMargin) / step.seconds, step.seconds);
    const double below = plot + kBoxHeight * step.depth() + 24;
    draw_roofline(svg, *panels[i].trace, below);
    top += kPanelHead + kBoxHeight * step.depth() + kRooflineHeight + kPanelFoot;
  }
  return svg.finish();
}

}  // namespace laptime
