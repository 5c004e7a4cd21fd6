// Expands an ablation with an axis `lower`, without points that would not differ.
#include "sweep/ablation.h"

#include <algorithm>

#include "base/error.h"
#include "base/words.h"
#include "prepare/step_graph.h"

namespace laptime {
namespace {

constexpr const char* kWhere = "--ablate";

}  // namespace

std::vector<SweepPoint> expand_ablation(Sweep sweep) {
  for (const Axis& axis : sweep.axes) {
    if (axis.flag == "keep" || axis.flag == "lower")
      throw Error::format("{} decides itself which composites are lowered; leave --{} out", kWhere, axis.flag);
    if (axis.flag == "mode" && axis.values != std::vector<std::string>{std::string(name_of(Mode::kCompile))})
      throw Error::format("{} compares variants of compile mode; leave --mode out", kWhere);
  }
  set_option(sweep, "mode", kWhere, {std::string(name_of(Mode::kCompile))});
  // The composites depend on the model, so the sweep is expanded once to find them.
  std::vector<std::string> lowered{"none"};
  const auto add = [&](const std::string& names) {
    if (std::find(lowered.begin(), lowered.end(), names) == lowered.end()) lowered.push_back(names);
  };
  std::vector<std::vector<std::string>> sets;
  for (const SweepPoint& point : expand(sweep)) {
    if (!point.invalid.empty()) continue;
    sets.push_back(composites_of(point.config));
    for (const std::string& name : sets.back()) add(name);
  }
  for (const std::vector<std::string>& names : sets) add(joined(names, "+"));
  set_option(sweep, "lower", kWhere, lowered);
  std::vector<SweepPoint> points = expand(sweep);
  std::erase_if(points, [](const SweepPoint& point) {
    if (!point.invalid.empty() || !point.config.lower) return false;
    const std::vector<std::string> names = composites_of(point.config);
    const bool all = *point.config.lower == joined(names, "+");
    return !all && std::find(names.begin(), names.end(), *point.config.lower) == names.end();
  });
  return points;
}

std::vector<SweepPoint> points_of(const Sweep& sweep) {
  return sweep.output.ablate ? expand_ablation(sweep) : expand(sweep);
}

}  // namespace laptime
