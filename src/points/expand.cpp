// The product of a sweep's axes as named points.
#include "points/expand.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "config/label.h"
#include "config/option_table.h"
#include "points/resolve.h"

namespace laptime {
namespace {

std::string point_name(const RunConfig& config, const std::vector<Axis>& axes, const std::vector<GivenOption>& given) {
  std::string first;
  std::string always;
  RunConfig::visit_fields(config, [&](const Option& option, const auto& field) {
    if (option.in_name == InName::kWhereSwept) return;
    // What was asked for: "small" also where --num-layers made a custom model of it.
    const auto asked =
        std::find_if(given.begin(), given.end(), [&](const auto& one) { return one.flag == option.flag; });
    const std::string text = asked == given.end() ? text_of(option, field) : std::string(asked->text);
    if (option.in_name == InName::kFirst)
      first += text;
    else
      always += fmt::format("/{}:{}", option.tag, text);
  });
  std::string swept;
  for (size_t i = 0; i < axes.size(); ++i) {
    const Option option = find_option<RunConfig>(axes[i].flag).value();
    const bool named = option.in_name != InName::kWhereSwept || axes[i].values.size() == 1;
    if (!named) swept += fmt::format("/{}:{}", option.tag, given[i].text);
  }
  return first + always + swept;
}

// Counts `at` up by one, the last axis fastest; false after the last point.
bool advance(std::vector<size_t>& at, const std::vector<Axis>& axes) {
  for (size_t i = axes.size(); i-- > 0;) {
    if (++at[i] < axes[i].values.size()) return true;
    at[i] = 0;
  }
  return false;
}

void check_point_count(const std::vector<Axis>& axes, size_t max_points) {
  size_t count = 1;
  for (const Axis& axis : axes) {
    count *= axis.values.size();  // both factors are small: the product is checked at every axis
    if (count > max_points) {
      throw Error::format("the sweep has more than {} points; give fewer values, or several sweeps", max_points);
    }
  }
}

}  // namespace

std::vector<SweepPoint> expand(const Sweep& sweep, size_t max_points) {
  check_point_count(sweep.axes, max_points);
  std::vector<SweepPoint> points;
  std::set<std::string> names;
  SizeChecks sizes;
  bool any_valid = false;
  std::vector<size_t> at(sweep.axes.size(), 0);
  do {
    std::vector<GivenOption> given;
    for (size_t i = 0; i < at.size(); ++i) given.push_back({sweep.axes[i].flag, sweep.axes[i].values[at[i]]});
    ResolvedConfig resolved = resolve(given, sizes);
    SweepPoint point;
    point.name = point_name(resolved.config, sweep.axes, given);
    point.label = make_label(sweep.output.label, resolved.config, "label");
    point.invalid = std::move(resolved.invalid);
    point.config = std::move(resolved.config);
    LAPTIME_CHECK(names.insert(point.name).second, "two points are called {}", point.name);
    any_valid = any_valid || point.invalid.empty();
    points.push_back(std::move(point));
  } while (advance(at, sweep.axes));
  if (!any_valid) {
    throw Error::format("{}{}", points.size() == 1 ? "" : "no point of the sweep can run: ", points.front().invalid);
  }
  return points;
}

}  // namespace laptime
