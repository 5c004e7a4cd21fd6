// Expands a sweep into the product of its axes, as named points.
#include "points/expand.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/ranges.h"
#include "config/label.h"
#include "config/option_table.h"
#include "points/resolve.h"

namespace laptime {
namespace {

// Replaces the slashes of a value, such as a file path, because slashes separate the words of a name.
std::string name_part(std::string_view value) {
  std::string part(value);
  std::ranges::replace(part, '/', '-');
  return part;
}

std::string point_name(const RunConfig& config, const std::vector<Axis>& axes, const std::vector<GivenOption>& given) {
  std::string first;
  std::string always;
  RunConfig::visit_fields(config, [&](const Option& option, const auto& field) {
    if (option.in_name == InName::kWhereSwept || option.in_name == InName::kWhereGiven) return;
    // The name keeps the given word: "small" stays, although --num-layers makes the resolved model "custom". A path is
    // not kept, because it would break the name's format.
    const GivenOption* const found = find_in(given, option.flag, &GivenOption::flag);
    const bool keeps_word = found != nullptr && found->text.find('/') == std::string_view::npos;
    const std::string text = keeps_word ? std::string(found->text) : text_of(option, field);
    if (option.in_name == InName::kFirst)
      first += text;
    else
      always += fmt::format("/{}:{}", option.tag, text);
  });
  std::string others;
  for (size_t i = 0; i < axes.size(); ++i) {
    const Option option = find_option<RunConfig>(axes[i].flag).value();
    const bool is_swept = axes[i].values.size() > 1;
    if (option.in_name == InName::kWhereGiven || (option.in_name == InName::kWhereSwept && is_swept))
      others += fmt::format("/{}:{}", option.tag, name_part(given[i].text));
  }
  return first + always + others;
}

// Advances the indices to the next point, last axis fastest; false after the last point.
bool advance(std::vector<size_t>& index, const std::vector<Axis>& axes) {
  for (size_t i = axes.size(); i-- > 0;) {
    if (++index[i] < axes[i].values.size()) return true;
    index[i] = 0;
  }
  return false;
}

void check_point_count(const std::vector<Axis>& axes, size_t max_points) {
  size_t count = 1;
  for (const Axis& axis : axes) {
    count *= axis.values.size();  // cannot overflow, because both factors are bounded
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
  std::vector<size_t> index(sweep.axes.size(), 0);
  do {
    std::vector<GivenOption> given;
    for (size_t i = 0; i < index.size(); ++i) given.push_back({sweep.axes[i].flag, sweep.axes[i].values[index[i]]});
    ResolvedConfig resolved = resolve(given, sizes);
    SweepPoint point;
    point.name = point_name(resolved.config, sweep.axes, given);
    point.label = make_label(sweep.output.label, resolved.config, "label");
    point.invalid = std::move(resolved.invalid);
    point.config = std::move(resolved.config);
    if (!names.insert(point.name).second) {
      throw Error::format(
          "two points of the sweep have the name {}; give the model folders different names, or measure "
          "the models in separate sweeps",
          point.name);
    }
    any_valid = any_valid || point.invalid.empty();
    points.push_back(std::move(point));
  } while (advance(index, sweep.axes));
  if (!any_valid) {
    throw Error::format("{}{}", points.size() == 1 ? "" : "no point of the sweep can run: ", points.front().invalid);
  }
  return points;
}

}  // namespace laptime
