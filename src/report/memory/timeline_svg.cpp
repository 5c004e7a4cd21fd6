// Stacked areas, and below them a lane for each of the largest allocations.
#include "report/memory/timeline_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "analysis/memory_ledger.h"
#include "analysis/memory_tensors.h"
#include "base/units.h"
#include "report/palette.h"
#include "report/svg.h"

namespace laptime {
namespace {

// Pixels.
constexpr double kWidth = 1200;
constexpr double kLeft = 90;
constexpr double kRight = 20;
constexpr double kPlotWidth = kWidth - kLeft - kRight;
constexpr double kHead = 104;  // title, conclusion, two lines of legend
constexpr double kPlotHeight = 380;
constexpr double kPhases = 46;  // below the plot
constexpr double kLane = 20;
constexpr double kFoot = 34;
constexpr double kSmall = 11;

constexpr size_t kLanes = 10;
constexpr size_t kMaxSamples = 1100;  // more than one per pixel shows nothing

constexpr std::string_view kGrey = "#dddddd";
constexpr std::string_view kDark = "#444444";

// A power of two of bytes, at most a quarter of the axis, so that labels are short.
int64_t tick_of(int64_t top) {
  int64_t tick = 1;
  while (tick <= top / 8) tick *= 2;
  return tick;
}

class Panel {
 public:
  Panel(Svg& svg, const TracePanel& panel, double top)
      : svg_(svg), panel_(panel), trace_(*panel.trace), ledger_(trace_), top_(top) {
    limit_ = std::max<int64_t>(1, ledger_.peak().total());
    lanes_ = largest_in_all(trace_, ledger_.peak_launch(), kLanes);
  }

  static double height(const StepTrace& trace) {
    const size_t lanes = largest_in_all(trace, 0, kLanes).size();
    return kHead + kPlotHeight + kPhases + static_cast<double>(lanes + 1) * kLane + kFoot;
  }

  void draw() {
    draw_head();
    draw_grid();
    draw_areas();
    draw_phases();
    draw_peak();
    draw_lanes();
  }

 private:
  double plot_top() const { return top_ + kHead; }
  double plot_bottom() const { return plot_top() + kPlotHeight; }
  double lanes_top() const { return plot_bottom() + kPhases; }
  double x_of(double launch) const { return kLeft + kPlotWidth * launch / static_cast<double>(ledger_.launches()); }
  double y_of(int64_t bytes) const {
    return plot_bottom() - kPlotHeight * static_cast<double>(bytes) / static_cast<double>(limit_);
  }

  void draw_head() {
    svg_.text({kLeft, top_ + 24}, svg_shortened(panel_.title, 16, kPlotWidth), {.size = 16, .bold = true});
    svg_.text({kLeft, top_ + 44}, svg_shortened(panel_.subtitle, 12, kPlotWidth), {.size = 12});
    constexpr std::string_view kAtPeak = "At the peak:";
    double y = top_ + 66;
    svg_.text({kLeft, y}, kAtPeak, {.size = kSmall});
    double x = kLeft + svg_text_width(kAtPeak, kSmall) + 12;
    for (size_t i = 0; i < kMemoryCategoryCount; ++i) {
      const MemoryCategory category = category_at(i);
      if (!appears(category)) continue;
      const std::string label = fmt::format("{} {}", title_of(category), format_bytes(ledger_.peak()[category]));
      const double width = 30 + svg_text_width(label, kSmall);
      if (x + width > kWidth) {
        x = kLeft;
        y += 16;
      }
      svg_.rect({x, y - 10}, 12, 12, look_of(category).color);
      svg_.text({x + 16, y}, label, {.size = kSmall});
      x += width;
    }
  }

  // Whether the category is held at any launch.
  bool appears(MemoryCategory category) const {
    for (size_t launch = 0; launch < ledger_.launches(); ++launch) {
      if (ledger_.held(launch)[category] > 0) return true;
    }
    return false;
  }

  void draw_grid() {
    const int64_t tick = tick_of(limit_);
    for (int64_t bytes = 0; bytes <= limit_; bytes += tick) {
      svg_.line({kLeft, y_of(bytes)}, {kLeft + kPlotWidth, y_of(bytes)}, kGrey);
      svg_.text({kLeft - 8, y_of(bytes) + 4}, bytes == 0 ? "0" : format_bytes(bytes),
                {.size = kSmall, .anchor = "end"});
    }
  }

  void draw_areas() {
    const std::vector<size_t> columns = ledger_.most_held(kMaxSamples);
    const auto edge = [&](size_t column) {
      return kLeft + kPlotWidth * static_cast<double>(column) / static_cast<double>(columns.size());
    };
    std::vector<int64_t> below(columns.size(), 0);
    for (size_t i = 0; i < kMemoryCategoryCount; ++i) {
      const MemoryCategory category = category_at(i);
      if (!appears(category)) continue;
      std::vector<SvgPoint> upper;
      std::vector<SvgPoint> lower;
      for (size_t column = 0; column < columns.size(); ++column) {
        const int64_t bytes = ledger_.held(columns[column])[category];
        for (const size_t side : {column, column + 1}) {
          add_corner(upper, {edge(side), y_of(below[column] + bytes)});
          add_corner(lower, {edge(side), y_of(below[column])});
        }
        below[column] += bytes;
      }
      upper.insert(upper.end(), lower.rbegin(), lower.rend());
      svg_.polygon(upper, look_of(category).color,
                   fmt::format("{}: {} at the peak", title_of(category), format_bytes(ledger_.peak()[category])));
    }
  }

  // Leaves out the middle one of three points at one height.
  static void add_corner(std::vector<SvgPoint>& points, SvgPoint point) {
    const size_t n = points.size();
    if (n >= 2 && points[n - 1].y == point.y && points[n - 2].y == point.y) points.pop_back();
    points.push_back(point);
  }

  void draw_phases() {
    for (const Section& section : ledger_.sections()) {
      const double begin = x_of(static_cast<double>(section.first));
      const double end = x_of(static_cast<double>(section.last) + 1);
      svg_.line({begin, plot_top()}, {begin, plot_bottom() + 18}, kDark, 1, true);
      svg_.line({begin, plot_bottom() + 4}, {end, plot_bottom() + 4}, kDark, 2);
      const std::string title = svg_shortened(section.title, 12, end - begin);
      svg_.text({(begin + end) / 2, plot_bottom() + 19}, title, {.size = 12, .anchor = "middle", .bold = true});
    }
    svg_.text({kLeft + kPlotWidth, plot_bottom() + 35}, fmt::format("{} launches in order", ledger_.launches()),
              {.size = kSmall, .anchor = "end"});
  }

  void draw_peak() {
    const double x = x_of(static_cast<double>(ledger_.peak_launch()) + 0.5);
    const double y = y_of(limit_);
    svg_.circle({x, y}, 4, "#000000", "peak");
    const std::string label =
        fmt::format("{} held by {}", format_bytes(limit_), launch_text(trace_, ledger_.peak_launch()));
    const bool at_right = x + 10 + svg_text_width(label, kSmall) < kLeft + kPlotWidth;
    svg_.text({at_right ? x + 8 : x - 8, y - 5}, label, {.size = kSmall, .anchor = at_right ? "start" : "end"});
  }

  void draw_lanes() {
    if (lanes_.empty()) return;
    double y = lanes_top() + kLane;
    svg_.text({kLeft, y - 6},
              "What the step allocates most of, from the launch that makes it to the last that needs it",
              {.size = 12, .bold = true});
    for (const LargeTensors& lane : lanes_) {
      svg_.line({kLeft, y + kLane - 2}, {kLeft + kPlotWidth, y + kLane - 2}, "#eeeeee");
      for (const size_t index : lane.buffers) {
        const TraceBuffer buffer = trace_.buffer(index);
        const double begin = x_of(static_cast<double>(buffer.first));
        const double end = std::min(x_of(static_cast<double>(buffer.last) + 1), kLeft + kPlotWidth);
        svg_.rect({begin, y + 3}, std::max(1.0, end - begin), kLane - 8, look_of(lane.category).color,
                  fmt::format("{} {} {}, {}, made by {} in {}", buffer.name, buffer.dtype, buffer.shape,
                              format_bytes(buffer.bytes), buffer.op, buffer.scope));
      }
      label_lane(lane, y);
      y += kLane;
    }
  }

  // A label on white, where the lane has most room.
  void label_lane(const LargeTensors& lane, double y) {
    std::string label = fmt::format("{} {}", title_of(lane), format_bytes(lane.bytes));
    if (lane.buffers.size() > 1) label += fmt::format(" x{}", lane.buffers.size());
    const double width = svg_text_width(label, kSmall) + 8;
    double first = kLeft + kPlotWidth;
    double last = kLeft;
    for (const size_t index : lane.buffers) {
      first = std::min(first, x_of(static_cast<double>(trace_.buffers.first[index])));
      last = std::max(last, x_of(static_cast<double>(trace_.buffers.last[index]) + 1));
    }
    double x = last + 4;
    if (x + width > kLeft + kPlotWidth) x = first - width - 2;
    if (x < kLeft) x = (first + std::min(last, kLeft + kPlotWidth) - width) / 2;
    svg_.rect({x, y + 2}, width, kLane - 6, "#ffffff");
    svg_.text({x + 3, y + 13}, label, {.size = kSmall});
  }

  Svg& svg_;
  const TracePanel& panel_;
  const StepTrace& trace_;
  MemoryLedger ledger_;
  std::vector<LargeTensors> lanes_;
  double top_;
  int64_t limit_ = 1;
};

}  // namespace

std::string timeline_svg(std::span<const TracePanel> panels) {
  double height = 0;
  std::string description;
  for (const TracePanel& panel : panels) {
    height += Panel::height(*panel.trace);
    description += fmt::format("{}{}: {}", description.empty() ? "" : " ", panel.title, panel.subtitle);
  }
  Svg svg(kWidth, std::max(height, kFoot), "Memory held over a training step", description);
  double top = 0;
  for (const TracePanel& panel : panels) {
    Panel(svg, panel, top).draw();
    top += Panel::height(*panel.trace);
  }
  return svg.finish();
}

}  // namespace laptime
