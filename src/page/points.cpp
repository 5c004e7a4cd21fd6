// Chooses records, and finds axes, names and groups of points.
#include "page/points.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <tuple>

#include "base/proc_text.h"
#include "base/words.h"
#include "config/label.h"
#include "config/option_table.h"
#include "config/run_config.h"
#include "distribution/bootstrap.h"
#include "report/names.h"

namespace laptime {
namespace {

constexpr std::string_view kPass = "pass";
constexpr std::string_view kMachine = "machine";
constexpr std::string_view kPoint = "point";

// Whether the option with this name tag determines a point's work.
bool is_of_work(std::string_view tag) {
  static const std::set<std::string_view> kTags = [] {
    std::set<std::string_view> tags;
    for (const OptionRow& row : option_rows<RunConfig>()) {
      if (is_work_option(row.option.key)) tags.insert(row.option.tag);
    }
    return tags;
  }();
  return kTags.contains(tag);
}

// The tags and values in a name such as "step/model:small/ctx:256". A name that another program chose has no tags, so
// the whole name is one value.
std::vector<std::pair<std::string, std::string>> tags_of(const Record& record) {
  std::vector<std::pair<std::string, std::string>> tags;
  for (const std::string_view word : words_in(record.name)) {
    const size_t colon = word.find(':');
    if (tags.empty()) {
      tags.emplace_back(kPass, word);
    } else if (colon == std::string_view::npos) {
      return {{std::string(kPoint), record.name}};
    } else {
      tags.emplace_back(word.substr(0, colon), word.substr(colon + 1));
    }
  }
  return tags;
}

// A value in words: "context 128", or only "float32" if the value needs no title.
std::string spoken(const PageAxis& axis, const std::string& value) {
  constexpr std::array<std::string_view, 8> kPlain{"pass",   "model",   "dtype", "mode",
                                                   "device", "machine", "point", "system"};
  if (value.empty()) return "";
  std::string text = is_among(axis.key, kPlain) ? value : fmt::format("{} {}", axis.title, value);
  if (axis.key == kPass) text = spaced(text);
  if (axis.key == "device") text = brief_device(text);
  return text;
}

// Ranks the records of one point; the record with the highest rank represents the point.
int worth_of(const Record& record, bool has_trace) {
  const TimeStats* const time = record.main_time();
  if (record.status != Status::kOk || time == nullptr) return 0;
  return 1 + (time->count >= kFewestForInterval ? 2 : 0) + (has_trace ? 1 : 0);
}

double median_of(const PagePoint& point) { return point.time()->median; }

// Groups the indices of points with equal keys, ordered by each group's first point.
template <class Key>
std::vector<PageGroup> grouped(const std::vector<PagePoint>& points, const Key& key) {
  std::map<std::string, size_t> known;
  std::vector<PageGroup> groups;
  for (size_t i = 0; i < points.size(); ++i) {
    const auto [found, is_new] = known.emplace(key(points[i]), groups.size());
    if (is_new) groups.emplace_back();
    groups[found->second].points.push_back(i);
  }
  return groups;
}

// How complete a pass is, from inference (0) to a step (4).
ptrdiff_t rank_of_pass(std::string_view pass) {
  constexpr std::array<std::string_view, 5> kPasses{"inference", "forward", "backward", "forward_backward", "step"};
  return std::ranges::find(kPasses, pass) - kPasses.begin();
}

std::vector<PagePoint> chosen_points(const PageInput& input) {
  std::vector<PagePoint> points;
  std::map<std::string, size_t> known;
  std::vector<int> worths;
  for (size_t i = 0; i < input.records.size(); ++i) {
    const Record& record = input.records[i];
    // A prediction has the fingerprint of the machine that computed it, which does not matter.
    const std::string machine = is_predicted(record) ? "" : record.fingerprint;
    const std::string identity =
        fmt::format("{}\n{}\n{}\n{}", record.name, record.label, machine, record.config.text("device"));
    const bool has_trace = input.traces[i] && input.traces[i]->launch_count() > 0;
    const int worth = worth_of(record, has_trace && !input.traces[i]->steps.empty());
    const auto [found, is_new] = known.emplace(identity, points.size());
    if (is_new) {
      points.push_back({&record});
      worths.push_back(worth);
    }
    PagePoint& point = points[found->second];
    const bool is_better = worth >= worths[found->second];
    if (is_better) {
      point.record = &record;
      worths[found->second] = worth;
    }
    // A trace without timed steps, which shows only the plan, never replaces a trace with timed steps.
    if (has_trace &&
        (point.trace == nullptr || point.trace->steps.empty() || (is_better && !input.traces[i]->steps.empty())))
      point.trace = &*input.traces[i];
  }
  return points;
}

// Whether some points are predicted and others are not.
bool is_mixed(const std::vector<PagePoint>& points) {
  const auto predicted =
      std::ranges::count_if(points, [](const PagePoint& point) { return is_predicted(*point.record); });
  return predicted > 0 && predicted < std::ssize(points);
}

std::vector<PageAxis> axes_of(std::vector<PagePoint>& points) {
  std::vector<PageAxis> axes;
  std::map<std::string, size_t> counts;  // number of points that state each option
  const auto add = [&](PagePoint& point, const std::string& key, const std::string& value) {
    auto axis = std::ranges::find(axes, key, &PageAxis::key);
    if (axis == axes.end()) axis = axes.insert(axis, {key, key == "ctx" ? "context" : key, {}});
    if (std::ranges::find(axis->values, value) == axis->values.end()) axis->values.push_back(value);
    point.values[key] = value;
    ++counts[key];
  };
  const bool marks = is_mixed(points);
  for (PagePoint& point : points) {
    for (const auto& [key, value] : tags_of(*point.record)) add(point, key, value);
    add(point, std::string(kMachine), marks ? marked_machine_of(*point.record) : machine_of(*point.record));
  }
  // The machine is a separate axis only if the points do not already differ in device.
  const auto device = std::ranges::find(axes, "device", &PageAxis::key);
  const bool names_device = device != axes.end() && device->values.size() > 1;
  std::erase_if(axes, [&](PageAxis& axis) {
    if (counts[axis.key] < points.size()) axis.values.emplace_back();
    return axis.values.size() < 2 || (axis.key == kMachine && names_device);
  });
  for (PageAxis& axis : axes) {
    if (std::ranges::all_of(axis.values, [](const auto& value) { return parse_double(value).has_value(); })) {
      std::ranges::stable_sort(axis.values, {}, parse_double);
    }
  }
  // Order: the options that determine the work, then the pass, then the options that determine how the work is done.
  std::ranges::stable_sort(axes, {}, [](const PageAxis& axis) {
    return axis.key == kPass ? 1 : is_of_work(axis.key) ? 0 : 2;
  });
  return axes;
}

std::vector<PageGroup> groups_of(std::vector<PagePoint>& points) {
  std::vector<PageGroup> groups = grouped(points, [](const PagePoint& point) { return work_of(*point.record); });
  const bool all_alone = std::ranges::all_of(groups, [](const auto& one) { return one.points.size() == 1; });
  if (all_alone && groups.size() > 1) {
    groups = grouped(points, [](const PagePoint& point) { return point.record->config.text("pass"); });
    for (PageGroup& group : groups) group.is_one_work = group.points.size() == 1;
  }
  for (size_t i = 0; i < groups.size(); ++i) {
    PageGroup& group = groups[i];
    const auto plainness = [&](size_t index) {
      const Record& record = *points[index].record;
      return (record.config.text("dtype") == "float32" ? 1 : 0) + (record.config.text("mode") == "eager" ? 1 : 0);
    };
    // Predictions are compared only if the group has no measured time.
    const bool is_measured = std::ranges::any_of(group.points, [&](size_t index) {
      return points[index].time() != nullptr && !is_predicted(*points[index].record);
    });
    for (const size_t index : group.points) {
      points[index].group = i;
      if (points[index].time() == nullptr || (is_measured && is_predicted(*points[index].record))) continue;
      if (!group.base || plainness(index) > plainness(*group.base)) group.base = index;
      if (!group.fastest || median_of(points[index]) < median_of(points[*group.fastest])) {
        group.second = group.fastest;
        group.fastest = index;
      } else if (!group.second || median_of(points[index]) < median_of(points[*group.second])) {
        group.second = index;
      }
    }
  }
  return groups;
}

void name(PagePoints& points) {
  const bool marks = is_mixed(points.all);
  std::map<std::string, size_t> labels;  // number of points with each label
  for (const PagePoint& point : points.all) ++labels[point.record->label];
  for (PagePoint& point : points.all) {
    const PageGroup& group = points.group_of(point);
    bool ends_in_work = false;
    for (const PageAxis& axis : points.axes) {
      const auto value = point.values.find(axis.key);
      const std::string text = value == point.values.end() ? "" : spoken(axis, value->second);
      if (text.empty()) continue;
      const bool is_work = is_of_work(axis.key);
      point.full_name += (point.full_name.empty() ? "" : is_work || ends_in_work ? ", " : " ") + text;
      ends_in_work = is_work;
      if (!is_work || (!group.is_one_work && axis.key != kPass))
        point.name += (point.name.empty() ? "" : is_work ? ", " : " ") + text;
    }
    if (const std::string& label = point.record->label; !label.empty()) {
      for (std::string* const name : {&point.name, &point.full_name})
        *name = joined_nonempty({label, labels[label] > 1 ? *name : ""}, ": ");
    }
    if (point.name.empty()) point.name = point.full_name;
    if (point.name.empty())
      point.name = point.full_name = spoken({std::string(kPass), "", {}}, point.values[std::string(kPass)]);
    if (point.name.empty()) point.name = point.full_name = point.record->name;
    // The mark of a prediction is part of its machine's name, so a name without the machine gets its own mark.
    if (!marks || !is_predicted(*point.record)) continue;
    for (std::string* const name : {&point.name, &point.full_name}) {
      if (name->find(kPredictedMark) == std::string::npos) *name += kPredictedMark;
    }
  }
}

size_t headline_of(const std::vector<PagePoint>& points) {
  const auto order = [](const PagePoint& point) {
    const Record& record = *point.record;
    const TimeStats* const time = point.time();
    return std::tuple(time != nullptr, !is_predicted(record), system_of(record).empty(),
                      rank_of_pass(record.config.text("pass")), record.flops.forward.value_or(0),
                      time == nullptr ? 0 : -time->median);
  };
  return static_cast<size_t>(std::ranges::max_element(points, {}, order) - points.begin());
}

}  // namespace

const TimeStats* PagePoint::time() const { return record->status == Status::kOk ? time_of(*record) : nullptr; }

PagePoints::PagePoints(const PageInput& input)
    : all(chosen_points(input)), axes(axes_of(all)), groups(groups_of(all)), budget(input.budget) {
  name(*this);
  headline = headline_of(all);
}

std::optional<Speedup> PagePoints::against_base(const PagePoint& point) const {
  const PageGroup& group = group_of(point);
  if (!group.is_one_work || !group.base || &all[*group.base] == &point || point.time() == nullptr) return std::nullopt;
  const Record& base = *all[*group.base].record;
  return is_predicted(base) == is_predicted(*point.record) ? speedup_of(base, *point.record) : std::nullopt;
}

}  // namespace laptime
