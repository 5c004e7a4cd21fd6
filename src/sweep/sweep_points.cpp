// Makes the points of ablations (along the axis `lower`) and of memory savings. Checks each distinct input once.
#include "sweep/sweep_points.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/ranges.h"
#include "base/words.h"
#include "config/machine.h"
#include "config/model_presets.h"
#include "config/option_table.h"
#include "data/token_data.h"
#include "data/tokens.h"
#include "data/weight_files.h"
#include "data/weights.h"
#include "model/config_json.h"
#include "model/named_model.h"
#include "points/resolve.h"
#include "prepare/prepare.h"
#include "prepare/step_graph.h"

namespace laptime {

namespace {

constexpr const char* kWhere = "--ablate";

}  // namespace

std::vector<SweepPoint> expand_ablation(Sweep sweep) {
  for (const Axis& axis : sweep.axes) {
    if (axis.flag == "keep" || axis.flag == "lower")
      throw Error::format("{} chooses which composites are lowered; leave out --{}", kWhere, axis.flag);
    if (axis.flag == "mode" && axis.values != std::vector<std::string>{std::string(name_of(Mode::kCompile))})
      throw Error::format("{} compares variants of compile mode; leave out --mode", kWhere);
  }
  set_option(sweep, "mode", kWhere, {std::string(name_of(Mode::kCompile))});
  // The composites depend on the model, so the sweep is expanded once to find them.
  std::vector<std::string> lowered{"none"};
  const auto add = [&](const std::string& names) {
    if (!is_among(names, lowered)) lowered.push_back(names);
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
    return *point.config.lower != joined(names, "+") && !is_among(*point.config.lower, names);
  });
  return points;
}

std::vector<SweepPoint> expand_savings(const SweepPoint& point) {
  const std::string most_passes = std::to_string(std::min<int64_t>(point.config.model.batch_size, 256));
  const std::vector<std::vector<GivenOption>> all{
      {{"recompute", "none"}},
      {{"recompute", "none"}, {"optimizer-in-backward", "true"}},
      {{"recompute", "none"}, {"moments", "bfloat16"}},
      {{"recompute", "none"}, {"micro-batches", "2"}},
      {{"recompute", "none"}, {"micro-batches", most_passes}},
      {{"recompute", "every=4"}},
      {{"recompute", "every=2"}},
      {{"recompute", "block"}},
      {{"recompute", "auto"}},
      {{"recompute", "block"}, {"optimizer-in-backward", "true"}, {"moments", "bfloat16"}},
      {{"recompute", "block"}, {"moments", "bfloat16"}, {"micro-batches", most_passes}},
  };
  std::vector<SweepPoint> points;
  for (const std::vector<GivenOption>& changes : all) {
    SweepPoint variant = point;
    for (const GivenOption& change : changes) {
      if (change.flag == "moments" && point.config.pass != Pass::kStep) continue;  // no optimizer, no moments
      assign(variant.config, change.flag, fmt::format("--{}", change.flag), change.text);
      variant.name += fmt::format("/{}:{}", find_option<RunConfig>(change.flag).value().tag, change.text);
    }
    try {
      validate(variant.config);
    } catch (const Error&) {
      continue;  // the options exclude each other
    }
    const bool is_known =
        std::ranges::any_of(points, [&](const SweepPoint& other) { return other.config == variant.config; });
    if (!is_known) points.push_back(std::move(variant));
  }
  return points;
}

std::vector<SweepPoint> points_of(const Sweep& sweep) {
  return sweep.output.ablate ? expand_ablation(sweep) : expand(sweep);
}

namespace {

// Runs the check for each key once, and remembers the error message.
class CheckCache {
 public:
  template <class Check>
  std::string problem(const std::string& key, const Check& check) {
    const auto [found, is_new] = problems_.try_emplace(key);
    if (!is_new) return found->second;
    try {
      check();
    } catch (const Error& error) {
      found->second = error.what();
    }
    return found->second;
  }

 private:
  std::map<std::string, std::string> problems_;
};

std::string model_key(const RunConfig& config) {
  std::string text;
  const ModelConfig model = config.step_model();
  ModelConfig::visit_fields(model, [&](const Option& option, const auto& field) {
    text += fmt::format(" {}={}", option.key, text_of(option, field));
  });
  return text;
}

std::string problem_of(const ResolvedPoint& point, CheckCache& checks) {
  const RunConfig& config = point.config;
  std::string problem;
  if (config.keep || config.lower) {
    const std::string key = fmt::format("composites {} {}", config.keep.value_or(""), config.lower.value_or(""));
    problem = checks.problem(key, [&] { pipeline_options(config); });
  }
  if (problem.empty() && config.delay) problem = checks.problem("delay " + *config.delay, [&] { delayed_op(config); });
  if (problem.empty() && !config.weights.empty()) {
    problem = checks.problem("weights " + config.weights + model_key(config), [&] { StartingWeights{config}; });
  }
  if (problem.empty() && !config.data.empty()) {
    const std::string key = fmt::format("data {} {} vocab={} context={}", config.data, name_of(config.data_format),
                                        config.model.vocab_size, config.step_context());
    problem = checks.problem(key, [&] { make_token_source(config); });
  }
  if (problem.empty() && config.kernels && point.device) {
    problem = checks.problem("kernels " + canonical_text(config), [&] { prepare(config, *point.device, {}); });
  }
  return problem;
}

// The files behind a weights path; the path may be a weight file, an index or a folder.
std::vector<std::filesystem::path> files_of_weights(const std::string& path) {
  std::vector<std::filesystem::path> files{path, std::filesystem::path(path) / kWeightsIndex};
  try {
    std::ranges::move(weight_file_paths(path), std::back_inserter(files));
  } catch (const Error&) {  // check_inputs reports weights that cannot be read
  }
  return files;
}

}  // namespace

std::vector<UsedFile> input_files(const Sweep& sweep, const std::vector<SweepPoint>& points) {
  std::vector<UsedFile> files;
  std::set<std::string> seen;
  const auto is_new = [&](const std::string& path) { return !path.empty() && seen.insert(path).second; };
  const auto add = [&](const char* what, const std::string& path) {
    if (is_new(path)) files.push_back({what, path});
  };
  add("the sweep file", sweep.file);
  for (const Axis& axis : sweep.axes) {
    if (axis.flag != "model") continue;
    for (const std::string& name : axis.values) {
      if (is_model_path(name)) add("the model's config.json", config_file_of(name).string());
    }
  }
  for (const SweepPoint& point : points) {
    const RunConfig& config = point.config;
    if (is_machine_file(config.device)) add("the machine file", config.device.substr(kMachinePrefix.size()));
    add("the kernels file", config.kernels.value_or(""));
    if (is_new(config.weights)) {
      for (const std::filesystem::path& file : files_of_weights(config.weights))
        files.push_back({"the weights file", file});
    }
    if (config.data.empty()) continue;
    for (const std::string& file : data_files(config.data)) add("the data file", file);
  }
  return files;
}

std::vector<ResolvedPoint> check_inputs(std::vector<SweepPoint> unchecked, RunsOn where) {
  std::vector<ResolvedPoint> points =
      where == RunsOn::kThisMachine ? resolved(std::move(unchecked)) : unplaced(std::move(unchecked));
  CheckCache checks;
  for (ResolvedPoint& point : points) {
    if (!point.invalid.empty()) continue;
    if (const std::string problem = problem_of(point, checks); !problem.empty()) point.refuse(problem);
  }
  if (std::ranges::all_of(points, [](const ResolvedPoint& point) { return !point.invalid.empty(); }))
    throw Error::format("{}{}", points.size() == 1 ? "" : "no point of the sweep can run: ", points.front().invalid);
  return points;
}

}  // namespace laptime
